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

extension ByteWriter {
    public mutating func write(historyEntry entry: HistoryEntry) {
        self.write(revision: entry.revision)
        self.write(integer: entry.time)
        self.write(varint: entry.sessionNumber)
        self.write(byte: entry.kind.rawValue)
        self.write(revision: entry.reverted ?? Revision(0))
        let state: UInt8 = (entry.isMine ? 1 : 0) | (entry.isNextUndo ? 2 : 0) | (entry.isNextRedo ? 4 : 0)
        self.write(byte: state | (entry.isBlocked ? 8 : 0) | (entry.entry == nil ? 0 : 16))
        self.write(string: entry.name)
        if let first = entry.entry { self.write(revision: first) }
    }
}

extension ByteReader {
    public mutating func historyEntry() throws(DecodingFailure) -> HistoryEntry {
        let revision = try self.revision("revision")
        let time = try self.integer(Int64.self, "time")
        let session = try self.varint("session number")
        guard let kind = HistoryEntry.Kind(rawValue: try self.byte("kind")) else {
            throw DecodingFailure(.unsupported, "kind")
        }
        let reverted = try self.revision("reverted")
        let flags = try self.byte("flags")
        return HistoryEntry(
            revision: revision,
            time: time,
            sessionNumber: session,
            kind: kind,
            reverted: reverted == Revision(0) ? nil : reverted,
            name: try self.string("name", max: Limits.nameBytesMax),
            isMine: flags & 1 != 0,
            isNextUndo: flags & 2 != 0,
            isNextRedo: flags & 4 != 0,
            isBlocked: flags & 8 != 0,
            entry: flags & 16 != 0 ? try self.revision("entry") : nil
        )
    }
}
