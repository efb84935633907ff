import NestModel

/// The byte form of diffs and of rows.
extension ByteWriter {
    package mutating func write(path: RowPosition) {
        self.write(count: path.section)
        self.write(count: path.row)
    }

    /// Writes the id, then the values in the order of the projection.
    package mutating func write(row: Row) {
        self.write(objectID: row.id)
        for value in row.values { self.write(value: value) }
    }

    package mutating func write(diff: ResultsDiff) {
        var diff = diff
        var rows = EncodedDiffRows()
        for inserted in diff.insertedRows {
            rows.insert(inserted.row.id, at: inserted.path) { writer in
                for value in inserted.row.values { writer.write(value: value) }
            }
        }
        for update in diff.updates {
            rows.update(at: update.path, count: update.values.count) { writer in
                for (property, value) in update.values {
                    writer.write(count: Int(property.rawValue))
                    writer.write(value: value)
                }
            }
        }
        diff.insertedRows = []
        diff.updates = []
        self.write(diff: diff, rows)
    }

    /// Writes a diff whose inserted and updated rows are encoded already. Precondition: it has none itself.
    package mutating func write(diff: ResultsDiff, _ rows: EncodedDiffRows) {
        precondition(diff.insertedRows.isEmpty && diff.updates.isEmpty, "the rows of the diff are encoded")
        self.write(revision: diff.to)
        self.write(varint: diff.to.rawValue - diff.from.rawValue)
        self.write(count: diff.total)
        self.write(integer: diff.digest)
        self.write(count: diff.deletedRows.count)
        for deleted in diff.deletedRows {
            self.write(path: deleted.path)
            self.write(objectID: deleted.id)
            self.write(byte: deleted.reason.rawValue)
        }
        self.write(count: diff.deletedSections.count)
        for index in diff.deletedSections { self.write(count: index) }
        self.write(count: diff.insertedSections.count)
        for section in diff.insertedSections {
            self.write(count: section.index)
            self.write(value: section.key)
        }
        self.write(count: diff.moves.count)
        for move in diff.moves {
            self.write(path: move.from)
            self.write(path: move.to)
        }
        self.write(count: rows.insertedCount)
        self.write(raw: rows.inserted.bytes)
        self.write(count: rows.updatedCount)
        self.write(raw: rows.updated.bytes)
        if let window = diff.window { self.write(windowPosition: window) }
    }
}

extension ByteReader {
    package mutating func path(_ field: StaticString) throws(DecodingFailure) -> RowPosition {
        RowPosition(try self.index(field), try self.index(field))
    }

    package mutating func row(valueCount: Int) throws(DecodingFailure) -> Row {
        let id = try self.objectID("row id")
        guard self.remaining >= valueCount else { throw DecodingFailure(.truncated, "row values") }
        var values: [AttributeValue] = []
        values.reserveCapacity(valueCount)
        for _ in 0..<valueCount { values.append(try self.value("row value")) }
        return Row(id: id, values: values)
    }

    /// `valueCount`: the number of projected properties; `hasWindow`: the view has a window. Both sides know these from
    /// the subscription.
    package mutating func diff(valueCount: Int, hasWindow: Bool = false) throws(DecodingFailure) -> ResultsDiff {
        let to = try self.revision("to")
        let span = try self.varint("to - from")
        guard span <= to.rawValue else { throw DecodingFailure(.outOfRange, "to - from") }
        var diff = ResultsDiff(
            from: Revision(to.rawValue - span),
            to: to,
            total: try self.index("total"),
            digest: try self.integer(UInt64.self, "digest")
        )
        for _ in 0..<(try self.count("deleted rows", bytesEach: 4)) {
            let path = try self.path("deleted row")
            let id = try self.objectID("deleted row id")
            guard let reason = LeaveReason(rawValue: try self.byte("leave reason")) else {
                throw DecodingFailure(.unsupported, "leave reason")
            }
            diff.deletedRows.append(.init(path: path, id: id, reason: reason))
        }
        for _ in 0..<(try self.count("deleted sections")) {
            diff.deletedSections.append(try self.index("deleted section"))
        }
        for _ in 0..<(try self.count("inserted sections", bytesEach: 2)) {
            diff.insertedSections.append(
                .init(index: try self.index("inserted section"), key: try self.value("section key"))
            )
        }
        for _ in 0..<(try self.count("moves", bytesEach: 4)) {
            diff.moves.append(.init(from: try self.path("move source"), to: try self.path("move target")))
        }
        for _ in 0..<(try self.count("inserted rows", bytesEach: 3)) {
            diff.insertedRows.append(
                .init(path: try self.path("inserted row"), row: try self.row(valueCount: valueCount))
            )
        }
        for _ in 0..<(try self.count("updates", bytesEach: 3)) {
            let path = try self.path("update")
            var values: [(property: PropertyNumber, value: AttributeValue)] = []
            let max = Limits.propertiesPerEntityMax + Limits.columnsMax
            for _ in 0..<(try self.count("updated values", max: max, bytesEach: 2)) {
                values.append((try self.propertyNumber("updated property"), try self.value("updated value")))
            }
            diff.updates.append(.init(path: path, values: values))
        }
        if hasWindow { diff.window = try self.windowPosition() }
        return diff
    }
}
