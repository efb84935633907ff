import DequeModule
import NestModel
import NestStore

/// The undo and redo stacks of one session: revisions, newest last. An index over the journal, rebuilt at start.
struct SessionStacks {
    private struct Entry {
        var revision: Revision
        var bytes: Int
    }

    private var undo: Deque<Entry> = []
    private var redo: Deque<Entry> = []
    private var bytes = 0

    var undoRevision: Revision? { self.undo.last?.revision }
    var redoRevision: Revision? { self.redo.last?.revision }

    /// Takes a committed transaction of the session.
    mutating func record(_ header: JournalHeader) {
        let entry = Entry(
            revision: header.revision,
            bytes: header.inlineBytes + header.blockCount * Limits.journalBlockBytes
        )
        switch header.kind {
        case .write:
            self.push(entry)
            self.bytes -= self.redo.reduce(0) { $0 + $1.bytes }
            self.redo.removeAll()
        case .undo:
            // The inverse is known only now: what redo will revert is this undo.
            self.remove(header.reverted, from: \.undo)
            self.redo.append(entry)
            self.bytes += entry.bytes
        case .redo:
            self.remove(header.reverted, from: \.redo)
            self.push(entry)
        }
    }

    private mutating func push(_ entry: Entry) {
        self.undo.append(entry)
        self.bytes += entry.bytes
        // The newest is kept, whatever its size.
        while self.undo.count > Limits.undoEntriesPerSessionMax
            || (self.bytes > Limits.undoBytesPerSessionMax && self.undo.count > 1)
        {
            guard let dropped = self.undo.popFirst() else { return }
            self.bytes -= dropped.bytes
        }
    }

    private mutating func remove(_ revision: Revision?, from stack: WritableKeyPath<Self, Deque<Entry>>) {
        guard let index = self[keyPath: stack].lastIndex(where: { $0.revision == revision }) else { return }
        self.bytes -= self[keyPath: stack].remove(at: index).bytes
    }

    /// Forgets what the journal has dropped.
    mutating func drop(through revision: Revision) {
        for stack in [\Self.undo, \Self.redo] {
            while let first = self[keyPath: stack].first, first.revision <= revision {
                self.bytes -= first.bytes
                self[keyPath: stack].removeFirst()
            }
        }
    }
}
