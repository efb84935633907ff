/// What an undo would do now.
public struct UndoPreview: Hashable, Sendable {
    /// A value of an object that would be another.
    public struct Value: Hashable, Sendable {
        public var property: PropertyNumber
        public var before: AttributeValue
        /// The same as before for a to-one relationship in which only the object's place would change.
        public var after: AttributeValue

        public init(property: PropertyNumber, before: AttributeValue, after: AttributeValue) {
            self.property = property
            self.before = before
            self.after = after
        }
    }

    public struct Change: Hashable, Sendable {
        public var object: ChangedObject
        /// What the object is called, for people; may be empty.
        public var label: String
        /// Of an updated object; relationships to many are in `object.properties` alone.
        public var values: [Value]

        public init(object: ChangedObject, label: String, values: [Value]) {
            self.object = object
            self.label = label
            self.values = values
        }
    }

    /// The entry's.
    public var name: String
    public var conflicts: UndoConflicts
    public var insertedCount: Int
    public var updatedCount: Int
    public var deletedCount: Int
    /// The first `Limits.previewObjectsMax` of the objects that would change.
    public var changes: [Change]

    public init(
        name: String,
        conflicts: UndoConflicts = UndoConflicts(),
        insertedCount: Int = 0,
        updatedCount: Int = 0,
        deletedCount: Int = 0,
        changes: [Change] = []
    ) {
        self.name = name
        self.conflicts = conflicts
        self.insertedCount = insertedCount
        self.updatedCount = updatedCount
        self.deletedCount = deletedCount
        self.changes = changes
    }

    /// It would change nothing.
    public var isNothing: Bool { self.insertedCount == 0 && self.updatedCount == 0 && self.deletedCount == 0 }
}

extension ByteWriter {
    package mutating func write(undoPreview preview: UndoPreview) {
        self.write(string: preview.name)
        self.write(undoConflicts: preview.conflicts)
        self.write(count: preview.insertedCount)
        self.write(count: preview.updatedCount)
        self.write(count: preview.deletedCount)
        self.write(count: preview.changes.count)
        for change in preview.changes { self.write(previewedChange: change) }
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
        return preview
    }
}
