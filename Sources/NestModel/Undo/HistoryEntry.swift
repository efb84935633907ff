/// One committed transaction, as `history` lists it.
public struct HistoryEntry: Hashable, Sendable {
    public enum Kind: UInt8, Sendable, CustomStringConvertible {
        case write = 0
        case undo = 1
        case redo = 2
        /// An undo of any past transaction, named by its revision. Like a write, it makes an undo entry of its own.
        case revert = 3

        public var description: String {
            switch self {
            case .write: "write"
            case .undo: "undo"
            case .redo: "redo"
            case .revert: "revert"
            }
        }
    }

    public var revision: Revision
    /// Microseconds since 1970-01-01 UTC.
    public var time: Int64
    /// The public number of the session that wrote the transaction.
    public var sessionNumber: UInt64
    public var kind: Kind
    /// The revision that an undo or redo reverted.
    public var reverted: Revision?
    public var name: String
    /// Whether the requesting session wrote it.
    public var isMine: Bool
    /// Whether the requesting session's next undo (or redo) takes this entry.
    public var isNextUndo: Bool
    public var isNextRedo: Bool
    /// Whether undo (or redo) skips the entry because it would change nothing.
    public var isBlocked: Bool
    /// The first transaction of the undo entry that this one belongs to; `nil` if it is the first or the only one.
    public var entry: Revision?
    /// The user of the session when it wrote; `nil`: none, or not visible to the requesting client.
    public var user: UserLabel?

    public init(
        revision: Revision,
        time: Int64,
        sessionNumber: UInt64,
        kind: Kind,
        reverted: Revision?,
        name: String,
        isMine: Bool,
        isNextUndo: Bool,
        isNextRedo: Bool,
        isBlocked: Bool = false,
        entry: Revision? = nil,
        user: UserLabel? = nil
    ) {
        self.revision = revision
        self.time = time
        self.sessionNumber = sessionNumber
        self.kind = kind
        self.reverted = reverted
        self.name = name
        self.isMine = isMine
        self.isNextUndo = isNextUndo
        self.isNextRedo = isNextRedo
        self.isBlocked = isBlocked
        self.entry = entry
        self.user = user
    }
}
