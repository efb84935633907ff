import NestModel

extension ByteWriter {
    package mutating func write(undoPreview preview: UndoPreview) {
        self.write(string: preview.name)
        self.write(undoConflicts: preview.conflicts)
        self.write(count: preview.insertedCount)
        self.write(count: preview.updatedCount)
        self.write(count: preview.deletedCount)
        self.write(count: preview.changes.count)
        for change in preview.changes { self.write(previewedChange: change) }
        self.write(users: preview.conflicts.listed.map(\.user))
    }

    package mutating func write(previewedChange change: UndoPreview.Change) {
        self.write(changedObject: change.object)
        self.write(string: change.label)
        self.write(count: change.values.count)
        for value in change.values {
            self.write(count: Int(value.property.rawValue))
            self.write(value: value.before)
            self.write(value: value.after)
        }
    }
}

extension ByteReader {
    package mutating func undoPreview() throws(DecodingFailure) -> UndoPreview {
        var preview = UndoPreview(name: try self.string("name", max: Limits.nameBytesMax))
        preview.conflicts = try self.undoConflicts()
        preview.insertedCount = try self.index("inserted")
        preview.updatedCount = try self.index("updated")
        preview.deletedCount = try self.index("deleted")
        for _ in 0..<(try self.count("changes", max: Limits.previewObjectsMax, bytesEach: 5)) {
            let object = try self.changedObject()
            let label = try self.string("label", max: Limits.nameBytesMax)
            var values: [UndoPreview.Value] = []
            for _ in 0..<(try self.count("values", max: Limits.propertiesPerEntityMax, bytesEach: 3)) {
                values.append(
                    UndoPreview.Value(
                        property: try self.propertyNumber("property"),
                        before: try self.value("before"),
                        after: try self.value("after")
                    )
                )
            }
            preview.changes.append(UndoPreview.Change(object: object, label: label, values: values))
        }
        preview.conflicts.setUsers(try self.users(count: preview.conflicts.listed.count))
        return preview
    }
}
