import NestModel

/// Conversions between model values and their form in the vectors.
extension JSONValue {
    public init(_ value: AttributeValue) {
        switch value {
        case .null: self = .null
        case .boolean(let value): self = .bool(value)
        case .integer(let value):
            self = value.magnitude <= UInt64(Limits.objectIDMax) ? .integer(value) : ["integer": .string(String(value))]
        case .double(let value): self = ["double": Self.number(value)]
        case .string(let value): self = .string(value)
        case .date(let value):
            self = ["date": value.magnitude <= UInt64(Limits.objectIDMax) ? .integer(value) : .string(String(value))]
        case .data(let value): self = ["data": .string(Hex.text(value))]
        case .uuid(let value): self = ["uuid": .string(value.hex)]
        case .reference(let value): self = ["reference": .integer(value.rawValue)]
        }
    }

    /// Returns the JSON form of a double; a whole number is written as an integer.
    private static func number(_ value: Double) -> JSONValue {
        if value.isInfinite { return .string(value < 0 ? "-inf" : "inf") }
        if value == 0, value.sign == .minus { return "-0" }
        if let whole = Int64(exactly: value) { return .integer(whole) }
        return .double(value)
    }

    public init(_ path: RowPosition) {
        self = [.integer(Int64(path.section)), .integer(Int64(path.row))]
    }

    public init(_ row: Row) {
        self = ["id": .integer(row.id.rawValue), "values": .array(row.values.map { JSONValue($0) })]
    }

    public init(_ revision: Revision) {
        self = .integer(Int64(revision.rawValue))
    }

    public init(_ property: PropertyNumber) {
        self = .integer(Int64(property.rawValue))
    }

    public init(count: Int) {
        self = .integer(Int64(count))
    }

    public init(list: some Sequence<JSONValue>) {
        self = .array(Array(list))
    }

    /// The fields of a diff, without its projection.
    public init(_ diff: ResultsDiff) {
        var fields: [String: JSONValue] = [
            "from": JSONValue(diff.from), "to": JSONValue(diff.to), "total": JSONValue(count: diff.total),
            "digest": .string(ResultsDigest.text(diff.digest)),
            "deletedRows": JSONValue(
                list: diff.deletedRows.map {
                    [
                        "at": JSONValue($0.path), "id": .integer($0.id.rawValue),
                        "reason": .string($0.reason.description),
                    ]
                }
            ),
            "deletedSections": JSONValue(list: diff.deletedSections.map { JSONValue(count: $0) }),
            "insertedSections": JSONValue(
                list: diff.insertedSections.map { ["at": JSONValue(count: $0.index), "key": JSONValue($0.key)] }
            ),
            "moves": JSONValue(list: diff.moves.map { ["from": JSONValue($0.from), "to": JSONValue($0.to)] }),
            "insertedRows": JSONValue(
                list: diff.insertedRows.map {
                    [
                        "at": JSONValue($0.path), "id": .integer($0.row.id.rawValue),
                        "values": JSONValue(list: $0.row.values.map { JSONValue($0) }),
                    ]
                }
            ),
            "updates": JSONValue(
                list: diff.updates.map { update in
                    [
                        "at": JSONValue(update.path),
                        "values": JSONValue(
                            list: update.values.map {
                                ["property": JSONValue($0.property), "value": JSONValue($0.value)]
                            }
                        ),
                    ]
                }
            ),
        ]
        if let window = diff.window { fields["window"] = JSONValue(window) }
        self = .object(fields)
    }

    public init(_ position: WindowPosition) {
        self = [
            "total": JSONValue(count: position.total), "sectionTotal": JSONValue(count: position.sectionTotal),
            "start": [
                "row": JSONValue(count: position.start.row), "section": JSONValue(count: position.start.section),
                "rowInSection": JSONValue(count: position.start.rowInSection),
            ],
            "anchor": position.anchor.map { .integer($0.rawValue) } ?? .null,
        ]
    }

    public init(_ snapshot: SectionedSnapshot) {
        var fields: [String: JSONValue] = [
            "revision": JSONValue(snapshot.revision),
            "projection": JSONValue(list: snapshot.projection.map { JSONValue($0) }),
            "sections": JSONValue(
                list: snapshot.sections.map {
                    ["key": JSONValue($0.key), "rows": JSONValue(list: $0.rows.map { JSONValue($0) })]
                }
            ),
        ]
        if let window = snapshot.window { fields["window"] = JSONValue(window) }
        self = .object(fields)
    }
}

extension JSONValue {
    public var attributeValue: AttributeValue {
        get throws {
            switch self {
            case .null: return .null
            case .bool(let value): return .boolean(value)
            case .integer(let value): return .integer(value)
            case .string(let value): return .string(value)
            case .double, .array: throw VectorError("not a value: \(self)")
            case .object(let fields):
                guard fields.count == 1, let (type, value) = fields.first else {
                    throw VectorError("not a value: \(self)")
                }
                return try Self.value(type, value)
            }
        }
    }

    private static func value(_ type: String, _ json: JSONValue) throws -> AttributeValue {
        switch type {
        case "integer": return .integer(try json.whole)
        case "double":
            if case .double(let value) = json { return .double(value) }
            if case .string(let value) = json, let value = Double(value) { return .double(value) }
            return .double(Double(try json.int))
        case "date": return .date(try json.whole)
        case "data": return .data(try Hex.bytes(try json.text))
        case "uuid":
            guard let value = Identifier128(hex: try json.text) else { throw VectorError("not a uuid: \(json)") }
            return .uuid(value)
        case "reference": return .reference(ObjectID(try json.whole))
        default: throw VectorError("no type \(type)")
        }
    }

    /// The integer value. Integers that are too large for JSON are written as strings.
    public var whole: Int64 {
        get throws {
            if case .string(let text) = self, let value = Int64(text) { return value }
            return Int64(try self.int)
        }
    }

    public var unsigned: UInt64 {
        get throws {
            guard let value = UInt64(try self.text, radix: 16) else { throw VectorError("not hexadecimal: \(self)") }
            return value
        }
    }

    public var path: RowPosition {
        get throws {
            let numbers = try self.elements
            guard numbers.count == 2 else { throw VectorError("not an index path: \(self)") }
            return RowPosition(try numbers[0].int, try numbers[1].int)
        }
    }

    public var propertyNumbers: [PropertyNumber] {
        get throws { try self.elements.map { PropertyNumber(UInt16(try $0.int)) } }
    }

    public var row: Row {
        get throws {
            Row(id: ObjectID(try self["id"].whole), values: try self["values"].elements.map { try $0.attributeValue })
        }
    }

    public var revision: Revision {
        get throws { Revision(UInt64(try self.int)) }
    }

    public var snapshot: SectionedSnapshot {
        get throws {
            SectionedSnapshot(
                revision: try self["revision"].revision,
                projection: try self["projection"].propertyNumbers,
                sections: try self["sections"].elements.map {
                    ResultsSection(key: try $0["key"].attributeValue, rows: try $0["rows"].elements.map { try $0.row })
                },
                window: try self.optional("window")?.windowPosition
            )
        }
    }

    public var windowPosition: WindowPosition {
        get throws {
            let start = try self["start"]
            let anchor = try self["anchor"]
            return WindowPosition(
                total: try self["total"].int,
                sectionTotal: try self["sectionTotal"].int,
                start: WindowStart(
                    row: try start["row"].int,
                    section: try start["section"].int,
                    rowInSection: try start["rowInSection"].int
                ),
                anchor: anchor == .null ? nil : ObjectID(try anchor.whole)
            )
        }
    }

    public var diff: ResultsDiff {
        get throws {
            var diff = ResultsDiff(
                from: try self["from"].revision,
                to: try self["to"].revision,
                total: try self["total"].int,
                digest: try self["digest"].unsigned
            )
            diff.deletedRows = try self["deletedRows"].elements.map { json in
                let reason = try json["reason"].text
                guard let reason = LeaveReason.allCases.first(where: { $0.description == reason }) else {
                    throw VectorError("no reason \(reason)")
                }
                return .init(path: try json["at"].path, id: ObjectID(try json["id"].whole), reason: reason)
            }
            diff.deletedSections = try self["deletedSections"].elements.map { try $0.int }
            diff.insertedSections = try self["insertedSections"].elements.map {
                .init(index: try $0["at"].int, key: try $0["key"].attributeValue)
            }
            diff.moves = try self["moves"].elements.map { .init(from: try $0["from"].path, to: try $0["to"].path) }
            diff.insertedRows = try self["insertedRows"].elements.map {
                .init(path: try $0["at"].path, row: try $0.row)
            }
            diff.updates = try self["updates"].elements.map { json in
                .init(
                    path: try json["at"].path,
                    values: try json["values"].elements.map {
                        (PropertyNumber(UInt16(try $0["property"].int)), try $0["value"].attributeValue)
                    }
                )
            }
            diff.window = try self.optional("window")?.windowPosition
            return diff
        }
    }
}
