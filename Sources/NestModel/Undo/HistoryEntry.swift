/// One committed transaction as `history` lists it.
public struct HistoryEntry: Hashable, Sendable {
    public enum Kind: UInt8, Sendable, CustomStringConvertible {
        case write = 0
        case undo = 1
        case redo = 2
        /// An undo of any past transaction, by its revision: like a write, an undo entry of its own.
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
    /// The public number of the session that wrote it.
    public var sessionNumber: UInt64
    public var kind: Kind
    /// The revision that an undo or redo reverted.
    public var reverted: Revision?
    public var name: String
    /// Written by the session that asks.
    public var isMine: Bool
    /// What the asking session's next undo (redo) would take.
    public var isNextUndo: Bool
    public var isNextRedo: Bool
    /// Its undo (or redo) would have changed nothing: it is passed over.
    public var isBlocked: Bool
    /// The first transaction of the undo entry that it is a part of; `nil` when it is the first, or the only one.
    public var entry: Revision?

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
        entry: Revision? = nil
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
    }
}
