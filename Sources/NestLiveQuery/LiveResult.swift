import NestModel
import NestOrder
import NestSchema

/// The maintained result of a fetch request: its rows in order, and the log of their changes.
///
/// Holds ids and keys, and only the values that depend on other objects; other values are read when they are sent. No
/// I/O.
package final class LiveResult {
    /// The key and columns of a row of a computed result, which its own values alone do not determine.
    package struct Member {
        package var key: RowKey
        /// The values of the source's columns.
        package var columns: [AttributeValue]

        package init(key: RowKey, columns: [AttributeValue]) {
            self.key = key
            self.columns = columns
        }

        var valueBytes: Int { self.columns.reduce(0) { $0 + $1.byteCount } }
    }

    package let source: ResultSource
    /// These two of the source are asked for every changed object: without a copy of the source.
    package let isPaired: Bool
    package let isComputed: Bool
    package private(set) var tree: OrderStatisticTree
    /// The revision of the last change.
    package private(set) var revision: Revision
    package private(set) var log: RowLog
    /// The rows of a computed result; empty otherwise.
    private var memberTable: [ObjectID: Member] = [:]
    private var totals: ResultTotals?
    /// The bytes of the values of columns.
    private var valueBytes = 0

    /// The key of the one section of a result without a section key.
    package static let wholeSection = AttributeValue.string("")

    /// Makes the result from the rows of the store at a revision.
    package init(source: ResultSource, _ state: LiveState, revision: Revision) {
        self.source = source
        self.isPaired = source.isPaired
        self.isComputed = source.isComputed
        self.tree = state.tree
        self.memberTable = state.members
        self.totals = state.totals
        self.valueBytes = state.members.values.reduce(0) { $0 + $1.valueBytes }
        self.revision = revision
        self.log = RowLog(base: revision)
    }

    package convenience init(source: ResultSource, sorted rows: ResultRows, revision: Revision) {
        self.init(source: source, LiveState(source, rows), revision: revision)
    }

    /// Replaces the rows with those of the store at another revision, and empties the log.
    package func reload(_ state: LiveState, revision: Revision) {
        self.tree = state.tree
        self.memberTable = state.members
        self.totals = state.totals
        self.valueBytes = state.members.values.reduce(0) { $0 + $1.valueBytes }
        self.revision = revision
        self.log = RowLog(base: revision)
    }

    /// The estimated memory of the result, in bytes, that of an empty one included. A row of a computed result is also
    /// in a table, and one of a paired result in a table of the registry.
    package var byteCount: Int {
        let each = 128 + self.source.columnCount * 40
        let totals = self.totals?.byteCount ?? 0
        return 1_024 + totals + self.valueBytes + self.tree.byteCount + self.log.byteCount + each
            * self.memberTable.count
    }

    /// The rows of a computed result, in no order.
    package var members: some Collection<ObjectID> { self.memberTable.keys }

    package var state: LiveState { LiveState(tree: self.tree, members: self.memberTable, totals: self.totals) }

    /// Returns the row of a computed result, or `nil` if it is not one.
    package func member(_ id: ObjectID) -> Member? { self.memberTable[id] }

    /// Returns the row change that a changed object causes; `nil` if there is none. Precondition: the result is not
    /// computed.
    package func rowChange(_ object: ChangedRow) -> RowChange? { self.source.rowChange(object) }

    /// Applies the changes up to a revision, each row at most once. `after`: the revision before the first of them;
    /// `nil`: there is one.
    package func apply(_ changes: [RowChange], at revision: Revision, after: Revision? = nil) {
        // Not caused by a request: each commit arrives once, in order, with the rows as they were before.
        precondition(revision >= self.revision, "revisions only grow: \(self.revision) then \(revision)")
        self.totals?.beginChanges()
        for change in changes {
            if change.before != change.after {
                if let before = change.before {
                    let wasThere = self.tree.remove(before)
                    precondition(wasThere, "the row \(change.id) is not where the change set says it was")
                }
                if let after = change.after {
                    let isNew = self.tree.insert(after)
                    precondition(isNew, "the row \(change.id) is in the result already")
                }
            }
            if self.isComputed {
                let member = change.after.map { Member(key: $0, columns: change.columns) }
                let before = self.memberTable.removeValue(forKey: change.id)
                self.totals?.apply(change.id, from: before, to: member)
                self.valueBytes += (member?.valueBytes ?? 0) - (before?.valueBytes ?? 0)
                self.memberTable[change.id] = member
            }
        }
        self.log.append(revision, after: after, changes)
        self.revision = revision
    }

    /// Inserts the changes of older revisions, read from the journal, before the log.
    package func prepend(_ older: RowLog) {
        self.log.prepend(older)
    }

    package func dropOldestLogEntry() -> Bool { self.log.dropOldest() }

    package func dropLog(through revision: Revision) { self.log.drop(through: revision) }

    /// Returns the state at an earlier revision that the log still contains, and the net changes since. Moves the
    /// changed rows of the current tree back. O(k log n); both trees share their unchanged nodes.
    package func state(at base: Revision) -> (tree: OrderStatisticTree, changes: [ObjectID: RowChange]) {
        let changes = self.log.folded(after: base)
        var tree = self.tree
        for change in changes.values where change.before != change.after {
            if let after = change.after { tree.remove(after) }
        }
        for change in changes.values where change.before != change.after {
            if let before = change.before { tree.insert(before) }
        }
        return (tree, changes)
    }
}

/// The rows of a result in order. Any thread makes it; then one thread uses it.
///
/// Unchecked because the nodes of the tree are objects, which a tree that solely owns them changes in place: the thread
/// that makes a state hands it over and keeps no part of it.
package struct LiveState: @unchecked Sendable {
    package let tree: OrderStatisticTree
    /// The rows of a computed result; empty otherwise.
    package let members: [ObjectID: LiveResult.Member]
    let totals: ResultTotals?

    init(tree: OrderStatisticTree, members: [ObjectID: LiveResult.Member], totals: ResultTotals?) {
        self.tree = tree
        self.members = members
        self.totals = totals
    }

    /// O(n).
    package init(_ source: ResultSource, _ rows: ResultRows) {
        self.tree = OrderStatisticTree(sorted: rows.keys, sectioning: Sectioning(source))
        var members: [ObjectID: LiveResult.Member] = [:]
        if source.isComputed {
            members.reserveCapacity(rows.keys.count)
            for key in rows.keys {
                members[key.id] = LiveResult.Member(key: key, columns: rows.columns[key.id] ?? [])
            }
        }
        self.members = members
        self.totals = ResultTotals(source, members)
    }
}

/// The rows of a result as read from the store.
package struct ResultRows {
    /// Ascending.
    package var keys: [RowKey]
    /// The columns, if the result has any.
    package var columns: [ObjectID: [AttributeValue]]
    /// The number of objects examined to find the rows.
    package var candidateCount = 0
    /// The estimated time to examine them.
    package var nanoseconds = 0

    package init(keys: [RowKey] = [], columns: [ObjectID: [AttributeValue]] = [:]) {
        self.keys = keys
        self.columns = columns
    }
}

extension LiveState {
    /// Returns the totals of a range of rows that is shown: the whole result's, and those of the sections in it.
    /// `only`: the starts of the sections to return; `nil`: all of them. Empty without totals.
    package func totals(
        of range: Range<Int>,
        only starts: Set<SortKey>? = nil
    ) throws(ResultTotals.Overflow) -> (whole: [AttributeValue], sections: [TotalsUpdate.Section]) {
        guard let totals else { return ([], []) }
        func member(_ id: ObjectID) -> LiveResult.Member? { self.members[id] }
        var sections: [TotalsUpdate.Section] = []
        for (index, start) in self.shown(range, only: starts) {
            let values = try totals.values(ofSection: start, member)
            sections.append(TotalsUpdate.Section(index: index, values: values))
        }
        return (try totals.values(ofSection: nil, member), sections)
    }

    /// Returns the sections that a range of rows shows, ascending, each with its index among them.
    private func shown(_ range: Range<Int>, only starts: Set<SortKey>?) -> [(index: Int, start: SortKey)] {
        guard let sectioning = self.tree.sectioning, !range.isEmpty else { return [] }
        func start(_ index: Int) -> SortKey { sectioning.start(of: self.tree.key(at: index).sort) }
        guard let starts else {
            return self.tree.sections(of: range).enumerated().map { ($0, start($1.rows.lowerBound)) }
        }
        let first = self.tree.sectionIndex(of: start(range.lowerBound))
        let last = self.tree.sectionIndex(of: start(range.upperBound - 1))
        return starts.filter { self.tree.hasSection($0) }.compactMap { start in
            let index = self.tree.sectionIndex(of: start)
            return index >= first && index <= last ? (index - first, start) : nil
        }.sorted { $0.index < $1.index }
    }
}

extension LiveResult {
    /// What the last changes have changed in the totals; `nil`: the result has none.
    package var changedTotals: ResultTotals.Changed? { self.totals?.changed }
}

extension LiveState {
    /// The estimated memory of the totals, in bytes.
    package var totalsByteCount: Int { self.totals?.byteCount ?? 0 }
}
