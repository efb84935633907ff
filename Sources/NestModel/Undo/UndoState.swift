/// The undo and redo stacks of a session, as a client shows them in its menu.
public struct UndoState: Hashable, Sendable {
    /// One or several transactions that are undone together.
    public struct Entry: Hashable, Sendable {
        /// The revision of its newest transaction.
        public var revision: Revision
        public var name: String
        /// The number of its transactions.
        public var transactionCount: Int

        public init(revision: Revision, name: String, transactionCount: Int) {
            self.revision = revision
            self.name = name
            self.transactionCount = transactionCount
        }
    }

    /// The entry that the next undo reverts.
    public var undo: Entry?
    /// The entry that the next redo restores.
    public var redo: Entry?
    public var undoCount: Int
    public var redoCount: Int
    /// The number of entries that undo (or redo) skips because they would change nothing.
    public var blockedCount: Int
    /// The number of entries dropped because there were too many or they were too large.
    public var droppedCount: Int
    /// The open group of the connection.
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
