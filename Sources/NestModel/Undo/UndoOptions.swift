/// How an undo or redo treats later changes. No option overrides the model: cycles, uniqueness, required values and
/// delete rules are always checked again.
public struct UndoOptions: Hashable, Sendable {
    public enum Policy: UInt8, CaseIterable, Sendable, CustomStringConvertible {
        /// Keeps and reports later changes, and reverts the rest. The undo is refused if it would delete an object that
        /// the entry inserted and that contains later work.
        case keep = 0
        /// Overwrites later values, and deletes later work inside deleted objects; reports both.
        case force = 1
        /// Refuses the undo if anything was changed later, and reports all of it.
        case strict = 2

        public var description: String {
            switch self {
            case .keep: "keep"
            case .force: "force"
            case .strict: "strict"
            }
        }
    }

    public var policy: Policy
    /// Whether objects whose former owner is deleted are restored (or moved back) under the nearest remaining ancestor,
    /// as the last. If false, restoring such an object is refused with OWNER_GONE.
    public var rehomes: Bool

    public init(policy: Policy = .keep, rehomes: Bool = false) {
        self.policy = policy
        self.rehomes = rehomes
    }
}

/// The transaction or entry to undo or redo.
public enum UndoTarget: Hashable, Sendable {
    /// The newest entry of the session's undo stack.
    case undo
    /// The newest entry of the session's redo stack.
    case redo
    /// Any past transaction. `ofAnyone`: other sessions' transactions too.
    case revert(Revision, ofAnyone: Bool)
}

/// A change that an undo did not make, made in another way than requested, or, if forced, made to others' work.
public struct UndoConflict: Hashable, Sendable {
    public enum Reason: UInt8, CaseIterable, Sendable, CustomStringConvertible {
        /// The property was changed after the entry.
        case edited = 0
        /// The object was moved after the entry.
        case moved = 1
        /// The object was deleted after the entry.
        case deleted = 2
        /// The object exists already: another client restored it.
        case present = 3
        /// The owner or target to restore is deleted.
        case ownerGone = 4
        /// The object was restored under another owner: `UndoOptions.rehomes`.
        case rehomed = 5
        /// The property was changed after the entry; a forced undo overwrote it.
        case overwritten = 6
        /// The object was inserted or changed after the entry; a forced undo deleted it.
        case lost = 7
        /// A reason that this version does not know.
        case other = 255

        public var description: String {
            switch self {
            case .edited: "edited"
            case .moved: "moved"
            case .deleted: "deleted"
            case .present: "present"
            case .ownerGone: "ownerGone"
            case .rehomed: "rehomed"
            case .overwritten: "overwritten"
            case .lost: "lost"
            case .other: "other"
            }
        }
    }

    public var reason: Reason
    public var entity: EntityNumber
    public var object: ObjectID
    /// The attribute or relationship; `nil` for the whole object.
    public var property: PropertyNumber?
    /// The object's last change; `nil` if the object is deleted.
    public var revision: Revision?
    /// The public number of the session that made that change; `nil` if the journal no longer has the change.
    public var sessionNumber: UInt64?
    /// A name of the object for people; may be empty.
    public var label: String
    /// The user of that session when it made the change; `nil`: none, not known, or not visible to this client.
    public var user: UserLabel?

    public init(
        reason: Reason,
        entity: EntityNumber,
        object: ObjectID,
        property: PropertyNumber? = nil,
        revision: Revision? = nil,
        sessionNumber: UInt64? = nil,
        label: String = "",
        user: UserLabel? = nil
    ) {
        self.reason = reason
        self.entity = entity
        self.object = object
        self.property = property
        self.revision = revision
        self.sessionNumber = sessionNumber
        self.label = label
        self.user = user
    }
}

/// The conflicts of an undo: the first `Limits.undoConflictsMax`, and the number of all.
public struct UndoConflicts: Hashable, Sendable {
    public private(set) var listed: [UndoConflict] = []
    public private(set) var count = 0

    public init() {}

    public mutating func append(_ conflict: UndoConflict) {
        self.count += 1
        if self.listed.count < Limits.undoConflictsMax { self.listed.append(conflict) }
    }

    /// Sets the users of the listed conflicts, in their order. Precondition: one for each.
    package mutating func setUsers(_ users: [UserLabel?]) {
        precondition(users.count == self.listed.count, "one user for each conflict")
        for (index, user) in users.enumerated() { self.listed[index].user = user }
    }

    /// Counts conflicts without listing them.
    package mutating func addUnlisted(_ count: Int) { self.count += count }

    public var isEmpty: Bool { self.count == 0 }
}
