/// An object that a transaction changed, without its values.
public struct ChangedObject: Hashable, Sendable {
    public enum Kind: UInt8, Sendable, CaseIterable, CustomStringConvertible {
        case inserted = 1
        case updated = 2
        case deleted = 3

        public var description: String {
            switch self {
            case .inserted: "inserted"
            case .updated: "updated"
            case .deleted: "deleted"
            }
        }
    }

    public var kind: Kind
    /// The object's own entity, not an ancestor of it.
    public var entity: EntityNumber
    public var id: ObjectID
    /// The changed properties of an updated object, ascending. They include a to-one relationship if only the object's
    /// position among the owner's objects changed, and a to-many relationship only if it is many-to-many.
    public var properties: [PropertyNumber]

    public init(kind: Kind, entity: EntityNumber, id: ObjectID, properties: [PropertyNumber] = []) {
        self.kind = kind
        self.entity = entity
        self.id = id
        self.properties = properties
    }
}

/// The changed objects of one committed transaction, or a part of them if the transaction is very large.
///
/// Parts arrive in order and each object is in one part. Only an object with changed pairs of a many-to-many
/// relationship may appear again, as updated.
public struct ChangeSetPart: Hashable, Sendable {
    public var revision: Revision
    /// Microseconds since 1970-01-01 UTC.
    public var time: Int64
    /// The public number of the session that wrote the transaction.
    public var sessionNumber: UInt64
    public var kind: HistoryEntry.Kind
    /// The revision that an undo or redo reverted.
    public var reverted: Revision?
    /// The name of the undo entry.
    public var name: String
    /// The number of parts of the change set read so far, this one included, for resuming within it; 0 for the last
    /// part.
    package var place: Int
    public var objects: [ChangedObject]
    /// The user of the session when it wrote; `nil`: none.
    public var user: UserLabel?

    package init(
        revision: Revision,
        time: Int64,
        sessionNumber: UInt64,
        kind: HistoryEntry.Kind,
        reverted: Revision?,
        name: String,
        place: Int = 0,
        objects: [ChangedObject],
        user: UserLabel? = nil
    ) {
        self.revision = revision
        self.time = time
        self.sessionNumber = sessionNumber
        self.kind = kind
        self.reverted = reverted
        self.name = name
        self.place = place
        self.objects = objects
        self.user = user
    }

    /// Whether another part of the same change set follows.
    public var hasMore: Bool { self.place > 0 }
}
