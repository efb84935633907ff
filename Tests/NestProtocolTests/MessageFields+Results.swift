import NestModel
import NestTestSupport
import NestProtocol

extension ObjectMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "entity": JSONValue(count: Int(self.object.entity.rawValue)), "id": .integer(self.object.id.rawValue),
            "revision": JSONValue(self.object.revision),
            "values": JSONValue(
                list: self.object.values.map { ["property": JSONValue($0.property), "value": JSONValue($0.value)] }
            ),
            "counts": JSONValue(
                list: self.object.counts.map {
                    ["property": JSONValue($0.property), "count": JSONValue(count: $0.count)]
                }
            ),
        ]
    }
}

extension ModelMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["entities": Self.entities(self.model)]
    }

    static func entities(_ model: ManagedObjectModel) -> JSONValue {
        JSONValue(list: model.entities.map { Self.fields($0) })
    }

    private static func fields(_ entity: EntityDescription) -> JSONValue {
        [
            "number": JSONValue(count: Int(entity.number.rawValue)), "name": .string(entity.name),
            "parent": entity.parent.map { JSONValue(count: Int($0.rawValue)) } ?? .null,
            "isAbstract": .bool(entity.isAbstract),
            "attributes": JSONValue(list: entity.attributes.map { Self.fields($0) }),
            "relationships": JSONValue(list: entity.relationships.map { Self.fields($0) }),
            "uniquenessConstraints": JSONValue(
                list: entity.uniquenessConstraints.map { JSONValue(properties: $0) }
            ),
            "indexes": JSONValue(list: entity.indexes.map { JSONValue(properties: $0) }),
            "label": entity.label.map { JSONValue($0) } ?? .null,
            "root": entity.root.map {
                ["object": .integer($0.object.rawValue), "relationship": JSONValue($0.relationship)]
            } ?? .null,
        ]
    }

    private static func fields(_ attribute: AttributeDescription) -> JSONValue {
        [
            "number": JSONValue(attribute.number), "name": .string(attribute.name),
            "type": .string("\(attribute.type)"), "isOptional": .bool(attribute.isOptional),
            "defaultsToNow": .bool(attribute.defaultsToNow), "default": JSONValue(attribute.defaultValue),
            "minimum": JSONValue(attribute.minimum), "maximum": JSONValue(attribute.maximum),
        ]
    }

    private static func fields(_ relationship: RelationshipDescription) -> JSONValue {
        [
            "number": JSONValue(relationship.number), "name": .string(relationship.name),
            "destination": JSONValue(count: Int(relationship.destination.rawValue)),
            "inverse": JSONValue(relationship.inverse), "isToMany": .bool(relationship.isToMany),
            "isOrdered": .bool(relationship.isOrdered), "isOptional": .bool(relationship.isOptional),
            "deleteRule": .string("\(relationship.deleteRule)"),
            "minimumCount": JSONValue(count: relationship.minimumCount),
            "maximumCount": JSONValue(count: relationship.maximumCount),
            "join": relationship.join.map { JSONValue(count: Int($0.rawValue)) } ?? .null,
        ]
    }
}

extension Statistics: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "values": JSONValue(
                list: self.values.map { ["name": .string($0.name), "value": .integer(Int64($0.value))] }
            )
        ]
    }
}

extension SubtreeStart: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "revision": JSONValue(self.revision), "entity": JSONValue(count: Int(self.entity.rawValue)),
            "rowCount": JSONValue(count: self.rowCount), "byteCount": JSONValue(count: self.byteCount),
            "properties": JSONValue(properties: self.properties),
        ]
    }
}

extension SubtreeChunk: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var chunks = SubtreeChunkReader(valueCount: valueCount)
        let rows = try chunks.rows(of: self.unpacked()).map { row -> JSONValue in
            [
                "depth": JSONValue(count: row.depth), "id": row.id.map { .integer($0.rawValue) } ?? .null,
                "values": JSONValue(list: row.values.map { JSONValue($0) }),
            ]
        }
        return ["valueCount": JSONValue(count: valueCount), "rows": .array(rows)]
    }
}

extension SubtreeEnd: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["rowCount": JSONValue(count: self.rowCount), "checksum": .string(Hex.text(self.checksum))]
    }
}

extension Subscribed: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var revision: JSONValue = .null
        let first: JSONValue
        switch self.first {
        case .snapshot: first = "snapshot"
        case .difference: first = "difference"
        case .alreadySubscribed: first = "alreadySubscribed"
        case .current(let held):
            first = "current"
            revision = JSONValue(held)
        }
        return [
            "view": .integer(Int64(self.view)), "first": first, "revision": revision, "reason": .string(self.reason),
            "projection": JSONValue(properties: self.projection),
        ]
    }
}

extension DiffBody: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { try self.fields(valueCount: valueCount, hasWindow: false) }

    func fields(valueCount: Int, hasWindow: Bool) throws -> JSONValue {
        let diff = try self.diff(valueCount: valueCount, hasWindow: hasWindow)
        guard case .object(var fields) = JSONValue(diff) else {
            throw VectorError("a diff must be an object")
        }
        fields["valueCount"] = JSONValue(count: valueCount)
        return .object(fields)
    }
}

extension SnapshotMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "reason": .string("\(self.header.reason)"), "revision": JSONValue(self.header.revision),
            "digest": .string(Hex.text(self.header.digest)), "window": JSONValue(self.header.window),
            "sectionCount": JSONValue(count: self.sectionCount), "sections": JSONValue(sections: self.header.sections),
        ]
    }
}

extension SnapshotSections: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        // The position of a snapshot that may have any sections.
        let window = WindowPosition(total: .max, sectionTotal: .max, start: WindowStart())
        var header = SnapshotHeader(reason: .first, revision: Revision(1), digest: 0, window: window, sections: [])
        try self.read(into: &header, sectionCount: .max)
        return ["sections": JSONValue(sections: header.sections)]
    }
}

extension JSONValue {
    fileprivate init(sections: [SnapshotHeader.Section]) {
        self.init(list: sections.map { ["key": JSONValue($0.key), "rowCount": JSONValue(count: $0.rowCount)] })
    }
}

extension SnapshotRows: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "valueCount": JSONValue(count: valueCount),
            "rows": JSONValue(list: try self.rows(valueCount: valueCount).map { JSONValue($0) }),
        ]
    }
}

extension Progress: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["revision": JSONValue(self.revision)] }
}

extension SubscriptionEnd: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["code": .string("\(self.code)"), "message": .string(self.message)]
    }
}

extension Totals: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["revision": JSONValue(self.revision), "window": JSONValue(self.window)]
    }
}

extension Resubscribe: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["view": JSONValue(count: Int(self.view)), "request": JSONValue(self.request)]
    }
}

extension SetExpanded: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "view": JSONValue(count: Int(self.view)),
            "states": JSONValue(
                list: self.states.map {
                    ["object": .integer($0.object.rawValue), "isExpanded": .bool($0.isExpanded)]
                }
            ),
        ]
    }
}

extension ResultTotalsMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "revision": .integer(Int64(self.totals.revision.rawValue)),
            "isBeforeRows": .bool(self.isBeforeRows),
            "values": JSONValue(list: self.totals.values.map { JSONValue($0) }),
            "sections": JSONValue(
                list: self.totals.sections.map {
                    ["index": JSONValue(count: $0.index), "values": JSONValue(list: $0.values.map { JSONValue($0) })]
                }
            ),
        ]
    }
}
