/// What a session can take back and do again: what a client labels its menu with.
public struct UndoState: Hashable, Sendable {
    /// One or several transactions that are taken back together.
    public struct Entry: Hashable, Sendable {
        /// Of the newest of its transactions.
        public var revision: Revision
        public var name: String
        /// How many transactions it is made of.
        public var transactionCount: Int

        public init(revision: Revision, name: String, transactionCount: Int) {
            self.revision = revision
            self.name = name
            self.transactionCount = transactionCount
        }
    }

    /// What the next undo takes back.
    public var undo: Entry?
    /// What the next redo does again.
    public var redo: Entry?
    public var undoCount: Int
    public var redoCount: Int
    /// Entries whose undo (or redo) would have changed nothing: they are passed over.
    public var blockedCount: Int
    /// Entries dropped because there were too many, or too large ones.
    public var droppedCount: Int
    /// The connection's open group.
    public var group: UInt64?

    public init(
        undo: Entry? = nil,
        redo: Entry? = nil,
        undoCount: Int = 0,
        redoCount: Int = 0,
        blockedCount: Int = 0,
        droppedCount: Int = 0,
        group: UInt64? = nil
    ) {
        self.undo = undo
        self.redo = redo
        self.undoCount = undoCount
        self.redoCount = redoCount
        self.blockedCount = blockedCount
        self.droppedCount = droppedCount
        self.group = group
    }

    public var canUndo: Bool { self.undo != nil }
    public var canRedo: Bool { self.redo != nil }
}

extension ByteWriter {
    package mutating func write(undoState state: UndoState) {
        for entry in [state.undo, state.redo] {
            self.write(revision: entry?.revision ?? Revision(0))
            guard let entry else { continue }
            self.write(count: entry.transactionCount)
            self.write(string: entry.name)
        }
        self.write(count: state.undoCount)
        self.write(count: state.redoCount)
        self.write(count: state.blockedCount)
        self.write(count: state.droppedCount)
        self.write(varint: state.group ?? 0)
    }
}

extension ByteReader {
    package mutating func undoState() throws(DecodingFailure) -> UndoState {
        var state = UndoState()
        state.undo = try self.undoEntry()
        state.redo = try self.undoEntry()
        state.undoCount = try self.index("undo count")
        state.redoCount = try self.index("redo count")
        state.blockedCount = try self.index("blocked count")
        state.droppedCount = try self.index("dropped count")
        let group = try self.varint("group")
        state.group = group == 0 ? nil : group
        return state
    }

    private mutating func undoEntry() throws(DecodingFailure) -> UndoState.Entry? {
        let revision = try self.revision("entry revision")
        guard revision != Revision(0) else { return nil }
        let count = try self.index("entry transactions")
        return UndoState.Entry(
            revision: revision,
            name: try self.string("entry name", max: Limits.nameBytesMax),
            transactionCount: count
        )
    }
}
