import DequeModule
import NestModel

/// The change of one row of a result by one revision.
package struct RowChange: Sendable {
    package var id: ObjectID
    /// `nil`: not in the result before.
    package var before: RowKey?
    /// `nil`: not in the result after.
    package var after: RowKey?
    /// A request moved the row, or it entered or left. A row that is only re-keyed (its neighbourhood was
    /// renumbered) is not placed: it counts as unchanged.
    package var isPlaced: Bool
    /// The row's object is gone, not just out of the result.
    package var isDeleted: Bool
    /// Values that changed, as they were before; by slot, those of columns by `EntityLayout.columnSlot`.
    package var changed: [(slot: Int, before: AttributeValue)]
    /// Of a row that is in the result after: its columns.
    package var columns: [AttributeValue] = []

    package init(
        id: ObjectID,
        before: RowKey?,
        after: RowKey?,
        isPlaced: Bool,
        isDeleted: Bool = false,
        changed: [(slot: Int, before: AttributeValue)] = []
    ) {
        self.id = id
        self.before = before
        self.after = after
        self.isPlaced = isPlaced
        self.isDeleted = isDeleted
        self.changed = changed
    }

    /// Takes a later change of the same row: the state before stays, the state after is the later one.
    package mutating func merge(_ later: RowChange) {
        self.after = later.after
        self.isPlaced = self.isPlaced || later.isPlaced
        self.isDeleted = later.isDeleted
        self.columns = later.columns
        for value in later.changed where !self.changed.contains(where: { $0.slot == value.slot }) {
            self.changed.append(value)
        }
    }

    var byteCount: Int {
        let keys = (self.before?.sort.tail?.byteCount ?? 0) + (self.after?.sort.tail?.byteCount ?? 0)
        return self.changed.reduce(96 + keys) { sum, value in
            switch value.before {
            case .string(let text): sum + 48 + text.utf8.count
            case .data(let bytes): sum + 48 + bytes.count
            default: sum + 48
            }
        }
    }
}

/// The changes of a result's rows, revision by revision, as far back as they are kept: the source of the net
/// differences for lagging and returning clients.
package struct RowLog {
    private struct Entry {
        var revision: Revision
        var changes: [RowChange]
        var byteCount: Int
    }

    private var entries: Deque<Entry> = []
    /// Everything after this revision is in the log.
    package private(set) var base: Revision
    package private(set) var byteCount = 0

    package init(base: Revision) {
        self.base = base
    }

    package mutating func append(_ revision: Revision, _ changes: [RowChange]) {
        guard !changes.isEmpty else { return }
        let bytes = changes.reduce(32) { $0 + $1.byteCount }
        self.entries.append(Entry(revision: revision, changes: changes, byteCount: bytes))
        self.byteCount += bytes
    }

    /// Forgets the oldest revision; false when there is none.
    package mutating func dropOldest() -> Bool {
        guard let entry = self.entries.popFirst() else { return false }
        self.base = entry.revision
        self.byteCount -= entry.byteCount
        return true
    }

    /// Forgets everything up to a revision.
    package mutating func drop(through revision: Revision) {
        while let first = self.entries.first, first.revision <= revision { _ = self.dropOldest() }
        self.base = max(self.base, revision)
    }

    /// Puts older revisions, read from the journal, before what is there.
    package mutating func prepend(_ older: RowLog) {
        precondition(older.entries.last.map { $0.revision <= self.base } ?? true, "the log is in order of revisions")
        self.entries.prepend(contentsOf: older.entries)
        self.byteCount += older.byteCount
        self.base = older.base
    }

    /// Rows changed after a revision, counted with repetition: an upper bound of the work of folding them.
    package func changeCount(after base: Revision) -> Int {
        self.entries.reversed().prefix { $0.revision > base }.reduce(0) { $0 + $1.changes.count }
    }

    /// The net change of each row after `base`: the first before, the last after.
    package func folded(after base: Revision) -> [ObjectID: RowChange] {
        // `Engine.delta` rebuilds the log, or sends a snapshot, when a client resumes from before it.
        precondition(base >= self.base, "the log begins at \(self.base), not at \(base)")
        var folded: [ObjectID: RowChange] = [:]
        let start = self.entries.partitioningIndex { $0.revision > base }
        for entry in self.entries[start...] {
            for change in entry.changes {
                folded.merge(change)
            }
        }
        return folded
    }
}

extension [ObjectID: RowChange] {
    /// Adds a change that is later than those there.
    package mutating func merge(_ change: RowChange) {
        // Taken out while it is changed, so that its values are not copied.
        if var net = self.removeValue(forKey: change.id) {
            net.merge(change)
            self[change.id] = net
        } else {
            self[change.id] = change
        }
    }
}

extension RandomAccessCollection {
    /// The first index whose element is past the boundary, in a collection that is partitioned by it.
    fileprivate func partitioningIndex(_ isPast: (Element) -> Bool) -> Index {
        var low = self.startIndex
        var count = self.count
        while count > 0 {
            let half = count / 2
            let middle = self.index(low, offsetBy: half)
            if isPast(self[middle]) {
                count = half
            } else {
                low = self.index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
