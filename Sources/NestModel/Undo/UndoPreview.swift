/// The effect that an undo would have now.
public struct UndoPreview: Hashable, Sendable {
    /// A value of an object that would change.
    public struct Value: Hashable, Sendable {
        public var property: PropertyNumber
        public var before: AttributeValue
        /// Equal to `before` for a to-one relationship if only the object's position would change.
        public var after: AttributeValue

        public init(property: PropertyNumber, before: AttributeValue, after: AttributeValue) {
            self.property = property
            self.before = before
            self.after = after
        }
    }

    public struct Change: Hashable, Sendable {
        public var object: ChangedObject
        /// A name of the object for people; may be empty.
        public var label: String
        /// The changed values of an updated object. Changed to-many relationships are only in `object.properties`.
        public var values: [Value]

        public init(object: ChangedObject, label: String, values: [Value]) {
            self.object = object
            self.label = label
            self.values = values
        }
    }

    /// The name of the undo entry.
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

    /// Whether the undo would change nothing.
    public var isNothing: Bool { self.insertedCount == 0 && self.updatedCount == 0 && self.deletedCount == 0 }
}
