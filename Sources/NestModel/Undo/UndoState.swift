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
