import DequeModule
import NestModel
import NestOrder

/// The change of one row of a result by one revision.
package struct RowChange: Sendable {
    package var id: ObjectID
    /// `nil`: not in the result before.
    package var before: RowKey?
    /// `nil`: not in the result after.
    package var after: RowKey?
    /// Whether a request moved the row, or it entered or left. A row that is only re-keyed, because neighbouring
    /// positions were renumbered, is not placed: it counts as unchanged.
    package var isPlaced: Bool
    /// Whether the row's object was deleted, rather than only leaving the result.
    package var isDeleted: Bool
    /// The values before the change, of those that changed; by slot, for columns by `EntityLayout.columnSlot`.
    package var changed: [(slot: Int, before: AttributeValue)]
    /// The columns of a row that is in the result after.
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

    /// Merges a later change of the same row: the state before stays, the state after becomes the later one.
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

/// The changes of a result's rows, revision by revision, as far back as they are kept. Lagging and resuming clients get
/// their net differences from it.
package struct RowLog {
    private struct Entry {
        var revision: Revision
        /// The revision before the first one of the batch.
        var after: Revision
        var changes: [RowChange]
        var byteCount: Int
    }

    private var entries: Deque<Entry> = []
    /// The log contains all changes after this revision.
    package private(set) var base: Revision
    package private(set) var byteCount = 0

    package init(base: Revision) {
        self.base = base
    }

    /// `after`: the revision before the batch that `revision` ends; `nil`: the batch has one revision.
    package mutating func append(_ revision: Revision, after: Revision? = nil, _ changes: [RowChange]) {
        let after = after ?? Revision(max(revision.rawValue, 1) - 1)
        // Within a batch without a net change a row may have come and gone.
        guard !changes.isEmpty || after.next < revision else { return }
        let bytes = changes.reduce(40) { $0 + $1.byteCount }
        self.entries.append(Entry(revision: revision, after: after, changes: changes, byteCount: bytes))
        self.byteCount += bytes
    }

    /// Drops the oldest revision; returns false if there is none.
    package mutating func dropOldest() -> Bool {
        guard let entry = self.entries.popFirst() else { return false }
        self.base = entry.revision
        self.byteCount -= entry.byteCount
        return true
    }

    /// Drops all revisions up to one.
    package mutating func drop(through revision: Revision) {
        while let first = self.entries.first, first.revision <= revision { _ = self.dropOldest() }
        self.base = max(self.base, revision)
    }

    /// Inserts older revisions, read from the journal, before the present ones.
    package mutating func prepend(_ older: RowLog) {
        precondition(older.entries.last.map { $0.revision <= self.base } ?? true, "the log is in order of revisions")
        self.entries.prepend(contentsOf: older.entries)
        self.byteCount += older.byteCount
        self.base = older.base
    }

    /// Whether the log knows the changes after a revision. It does not know them after a revision within a batch. A
    /// client holds such a revision if another node of the cluster sent it: each node has batches of its own.
    package func knowsChanges(after revision: Revision) -> Bool {
        guard revision >= self.base else { return false }
        let next = self.entries.partitioningIndex { $0.revision > revision }
        return next == self.entries.endIndex || self.entries[next].after >= revision
    }

    /// Returns the number of changed rows after a revision, counted with repetition: an upper bound of the work of
    /// folding them.
    package func changeCount(after base: Revision) -> Int {
        self.entries.reversed().prefix { $0.revision > base }.reduce(0) { $0 + $1.changes.count }
    }

    /// Returns the net change of each row after `base`: the first state before, the last state after.
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
    /// Merges a change that is later than the present ones.
    package mutating func merge(_ change: RowChange) {
        // Removed during the change, so that its values are not copied.
        if var net = self.removeValue(forKey: change.id) {
            net.merge(change)
            self[change.id] = net
        } else {
            self[change.id] = change
        }
    }
}

extension RandomAccessCollection {
    /// Returns the first index whose element is past the boundary, in a collection partitioned by it.
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
