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
