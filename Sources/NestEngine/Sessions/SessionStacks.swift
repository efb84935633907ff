import DequeModule
import NestModel
import NestStore
import NestProtocol

/// The undo and redo stacks of one session, and its revisions. An index over the journal, rebuilt at start.
struct SessionStacks {
    /// Transactions that are undone together, oldest first.
    struct Entry {
        let first: Revision
        /// The revisions after the first; most entries have none.
        var others: [Revision] = []
        var name: String
        /// The scope of the newest transaction, which also gave the name.
        var scope: WriteScope
        var bytes: Int

        var newest: Revision { self.others.last ?? self.first }
        var count: Int { self.others.count + 1 }
        var revisions: [Revision] { [self.first] + self.others }

        func contains(_ revision: Revision) -> Bool {
            self.first == revision || self.others.contains(revision)
        }

        func state(for scope: AuthorisationScope) -> UndoState.Entry {
            let name = scope.name(self.name, madeIn: self.scope)
            return UndoState.Entry(revision: self.newest, name: name, transactionCount: self.count)
        }
    }

    /// The entries that can be undone, newest last.
    private var undo: Deque<Entry> = []
    private var redo: Deque<Entry> = []
    /// Entries whose undo or redo would have changed nothing: they are skipped.
    private var blocked: Deque<Entry> = []
    private var bytes = 0
    /// The number of entries that were dropped because there were too many, or they were too large.
    private(set) var droppedCount = 0
    /// A revision before which no entry begins.
    private var oldest: Revision?
    /// All revisions of the session in the journal.
    private(set) var revisions = SessionRevisions()

    var nextUndo: Entry? { self.undo.last }
    var nextRedo: Entry? { self.redo.last }

    /// Returns the undo state as a connection with this scope may see it, without the group, which belongs to a
    /// connection.
    func state(for scope: AuthorisationScope) -> UndoState {
        UndoState(
            undo: self.undo.last?.state(for: scope),
            redo: self.redo.last?.state(for: scope),
            undoCount: self.undo.count,
            redoCount: self.redo.count,
            blockedCount: self.blocked.count,
            droppedCount: self.droppedCount
        )
    }

    /// Whether the entry that begins with this transaction can still be undone.
    func canJoin(_ first: Revision) -> Bool { self.undo.lastIndex { $0.first == first } != nil }

    func isBlocked(_ revision: Revision) -> Bool {
        self.blocked.contains { $0.contains(revision) }
    }

    /// Records a committed transaction of the session.
    mutating func record(_ header: JournalHeader) {
        let bytes = header.inlineBytes + header.blockCount * Limits.journalBlockBytes
        self.bytes += bytes
        if self.oldest == nil { self.oldest = header.revision }
        self.revisions.append(header.revision)
        switch header.kind {
        case .write, .revert:
            if !self.redo.isEmpty {
                self.bytes -= self.redo.reduce(0) { $0 + $1.bytes }
                self.redo.removeAll()
            }
            Self.push(header, bytes, to: &self.undo)
        case .undo:
            // Redo reverts this undo, whose revision is known only now.
            self.remove(header.reverted, from: \.undo)
            Self.push(header, bytes, to: &self.redo)
        case .redo:
            self.remove(header.reverted, from: \.redo)
            Self.push(header, bytes, to: &self.undo)
        }
        self.shrink()
    }

    /// Pushes the entry of a transaction. If the transaction is part of an older entry, that entry moves to the top.
    private static func push(_ header: JournalHeader, _ bytes: Int, to stack: inout Deque<Entry>) {
        guard let first = header.entry, let index = stack.lastIndex(where: { $0.first == first }) else {
            stack.append(Entry(first: header.revision, name: header.name, scope: header.scope, bytes: bytes))
            return
        }
        var joined = index == stack.count - 1 ? stack.removeLast() : stack.remove(at: index)
        joined.others.append(header.revision)
        (joined.name, joined.scope) = (header.name, header.scope)
        joined.bytes += bytes
        stack.append(joined)
    }

    /// Drops the oldest undo entries above the limits. Keeps the newest, whatever its size.
    private mutating func shrink() {
        while self.undo.count > Limits.undoEntriesPerSessionMax
            || (self.bytes > Limits.undoBytesPerSessionMax && self.undo.count > 1)
        {
            guard let dropped = self.undo.popFirst() else { return }
            self.bytes -= dropped.bytes
            self.droppedCount += 1
        }
    }

    private mutating func remove(_ revision: Revision?, from stack: WritableKeyPath<Self, Deque<Entry>>) {
        guard let revision, let index = self[keyPath: stack].lastIndex(where: { $0.contains(revision) })
        else {
            return
        }
        self.bytes -= self[keyPath: stack].remove(at: index).bytes
    }

    /// Skips an entry from now on. `revision`: its newest revision.
    mutating func block(_ revision: Revision) {
        for stack in [\Self.undo, \Self.redo] {
            guard let index = self[keyPath: stack].lastIndex(where: { $0.newest == revision }) else { continue }
            let entry = self[keyPath: stack].remove(at: index)
            self.bytes -= entry.bytes
            self.blocked.append(entry)
            if self.blocked.count > Limits.undoEntriesPerSessionMax { self.blocked.removeFirst() }
        }
    }

    /// Forgets the revisions that the journal has dropped. An entry is dropped with its first transaction. Returns
    /// whether any entry was dropped. O(1) when none can be.
    mutating func drop(through revision: Revision) -> Bool {
        self.revisions.drop(through: revision)
        guard let oldest, oldest <= revision else { return false }
        var isChanged = false
        var left: Revision?
        for stack in [\Self.undo, \Self.redo, \Self.blocked] {
            let count = self[keyPath: stack].count
            // An undo group may be above entries that were written during it.
            for entry in self[keyPath: stack] where entry.first <= revision && stack != \Self.blocked {
                self.bytes -= entry.bytes
            }
            self[keyPath: stack].removeAll { $0.first <= revision }
            if self[keyPath: stack].count != count { isChanged = true }
            for entry in self[keyPath: stack] { left = min(left ?? entry.first, entry.first) }
        }
        self.oldest = left
        return isChanged
    }
}
