/// An object that a transaction has touched, without its values.
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
    /// Its own entity.
    public var entity: EntityNumber
    public var id: ObjectID
    /// Of an updated object: what has changed, ascending. A to-one relationship is among them too when only the object's
    /// place among the others has changed; a to-many one when it is many-to-many.
    public var properties: [PropertyNumber]

    public init(kind: Kind, entity: EntityNumber, id: ObjectID, properties: [PropertyNumber] = []) {
        self.kind = kind
        self.entity = entity
        self.id = id
        self.properties = properties
    }
}

/// What one committed transaction has touched; of a very large one, a part of it.
///
/// Parts come in order, each object in one of them, but that an object may be told again as updated for the pairs of its
/// many-to-many relationships.
public struct ChangeSetPart: Hashable, Sendable {
    public var revision: Revision
    /// Microseconds since 1970-01-01 UTC.
    public var time: Int64
    /// The public number of the session that wrote it.
    public var sessionNumber: UInt64
    public var kind: HistoryEntry.Kind
    /// The revision that an undo or redo reverted.
    public var reverted: Revision?
    /// The undo entry's.
    public var name: String
    /// How many parts of the change set have been read with this one, for resuming inside it; 0 when it ends here.
    package var place: Int
    public var objects: [ChangedObject]

    package init(
        revision: Revision,
        time: Int64,
        sessionNumber: UInt64,
        kind: HistoryEntry.Kind,
        reverted: Revision?,
        name: String,
        place: Int = 0,
        objects: [ChangedObject]
    ) {
        self.revision = revision
        self.time = time
        self.sessionNumber = sessionNumber
        self.kind = kind
        self.reverted = reverted
        self.name = name
        self.place = place
        self.objects = objects
    }

    /// Another part of the same change set follows.
    public var hasMore: Bool { self.place > 0 }
}
