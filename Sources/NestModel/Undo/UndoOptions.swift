/// What an undo or redo does about what has changed since. Nothing of it overrides what the model wants: cycles, uniqueness,
/// required values and delete rules are judged again in any case.
public struct UndoOptions: Hashable, Sendable {
    public enum Policy: UInt8, CaseIterable, Sendable, CustomStringConvertible {
        /// What was changed later stays as it is and is reported; the rest is taken back. An object that the entry inserted
        /// and that holds later work is not deleted: the undo is refused.
        case keep = 0
        /// Later values are overwritten, and later work inside of what goes is deleted with it; both are reported.
        case force = 1
        /// Refused, with everything that was changed later.
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
    /// What comes back, or moves back, under an object that is gone goes under the nearest one above it that lives, as the
    /// last. Otherwise what would come back is refused with OWNER_GONE.
    public var rehomes: Bool

    public init(policy: Policy = .keep, rehomes: Bool = false) {
        self.policy = policy
        self.rehomes = rehomes
    }
}

/// What is to be taken back.
public enum UndoTarget: Hashable, Sendable {
    /// The newest entry of the session's undo stack.
    case undo
    /// The newest entry of its redo stack.
    case redo
    /// Any past transaction. `ofAnyone`: another session's too.
    case revert(Revision, ofAnyone: Bool)
}

/// Something that an undo left as it found it, did in another way than asked, or, forced, took from others.
public struct UndoConflict: Hashable, Sendable {
    public enum Reason: UInt8, CaseIterable, Sendable, CustomStringConvertible {
        /// The property has another value by now than the entry gave it.
        case edited = 0
        /// The object has been put somewhere else since.
        case moved = 1
        /// The object has been deleted since.
        case deleted = 2
        /// The object is there already: somebody else brought it back.
        case present = 3
        /// The object that it would lead to again, or be under again, is gone.
        case ownerGone = 4
        /// It went under another object than before: `UndoOptions.rehomes`.
        case rehomed = 5
        /// The property had another value than the entry gave it; a forced undo has replaced it.
        case overwritten = 6
        /// The object did not come with the entry, or was changed since; a forced undo has deleted it.
        case lost = 7
        /// One that this version does not know.
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
    /// The attribute or relationship; `nil` when it is the whole object.
    public var property: PropertyNumber?
    /// The object's last change; `nil` when it is gone.
    public var revision: Revision?
    /// The public number of the session that made that change; `nil` when the journal no longer has it.
    public var sessionNumber: UInt64?
    /// What the object is called, for people; may be empty.
    public var label: String

    public init(
        reason: Reason,
        entity: EntityNumber,
        object: ObjectID,
        property: PropertyNumber? = nil,
        revision: Revision? = nil,
        sessionNumber: UInt64? = nil,
        label: String = ""
    ) {
        self.reason = reason
        self.entity = entity
        self.object = object
        self.property = property
        self.revision = revision
        self.sessionNumber = sessionNumber
        self.label = label
    }
}

/// All that an undo left as it found it: the first `Limits.undoConflictsMax` of it, and how much it was.
public struct UndoConflicts: Hashable, Sendable {
    public private(set) var listed: [UndoConflict] = []
    public private(set) var count = 0

    public init() {}

    public mutating func append(_ conflict: UndoConflict) {
        self.count += 1
        if self.listed.count < Limits.undoConflictsMax { self.listed.append(conflict) }
    }

    /// Counts more than are listed.
    package mutating func addUnlisted(_ count: Int) { self.count += count }

    public var isEmpty: Bool { self.count == 0 }
}
