import NestModel
import NestSchema

/// A write of very many objects that is prepared in parts, between the commits of other clients, and then becomes part
/// of a request, in a time that does not grow with its objects.
///
/// `prepare` writes rows that stay hidden, and blocks of the journal. The request then links or unlinks the topmost
/// objects by its usual rules, shows or hides the other rows, and takes over the blocks. So the write is whole or
/// absent after a crash, and all clients see all of it at one revision.
protocol PreparedWrite: AnyObject {
    /// Its objects.
    var ids: IDRuns { get }
    /// The rows that are hidden while the write is prepared, and those that are hidden after it has been applied.
    var hidden: IDRuns { get }
    var hiddenAfter: IDRuns { get }
    /// The revision with which it has inserted its rows; `nil` if it inserts none.
    var insertedAt: Revision? { get }
    var blocks: PreparedBlocks { get }

    /// Prepares about `count` more objects in the open transaction.
    func prepare(_ count: Int) throws(StoreError) -> Preparation.State
    /// Whether the write still means the same after another request has made these changes.
    func allows(_ changes: ChangeSet) -> Bool
}

extension PreparedWrite {
    /// No other request finds a hidden row.
    func allows(_ changes: ChangeSet) -> Bool { true }
}

/// The preparation of one write.
package final class Preparation {
    package enum State {
        case open
        case done
        /// The request must run as one piece.
        case impossible
    }

    let write: any PreparedWrite
    package internal(set) var state = State.open
    /// The steps that the preparation may still take.
    var stepsLeft: Int

    init(_ write: any PreparedWrite, stepsMax: Int) {
        self.write = write
        self.stepsLeft = stepsMax
    }

    func note(_ changes: ChangeSet) {
        if !self.write.allows(changes) { self.state = .impossible }
    }
}

/// What the store prepares, and what it still has to do for the last write. At most one write is prepared at a time,
/// and none before all rows of the last one are as in the graph.
struct Preparations {
    enum State {
        case idle
        case preparing(Preparation)
        /// The hidden ids whose rows are still to be removed.
        case removing(IDRuns)
        /// The ids whose rows are still to get the revision of their write.
        case stamping(IDRuns)
    }

    var state = State.idle

    var current: Preparation? {
        if case .preparing(let preparation) = self.state { preparation } else { nil }
    }

    mutating func finish(_ rows: PreparedRows) {
        self.state = rows.stamping.map { .stamping($0.ids) } ?? .removing(rows.hidden)
    }
}

extension Store {
    /// Whether something is being prepared, removed or stamped.
    package var hasPreparations: Bool {
        if case .idle = self.preparations.state { false } else { true }
    }

    /// Whether it is this write that is being prepared.
    package func isPreparing(_ preparation: Preparation) -> Bool { self.preparations.current === preparation }

    /// Whether deletions of an object and what is below it may be prepared.
    package func mayPrepareDeletion(of id: ObjectID) throws(StoreError) -> Bool {
        guard let (layout, _) = try self.objects.object(id), let index = self.layout.index(of: layout.number) else {
            return false
        }
        return self.layout.cascadesAsTree[index] && layout.uniquenesses.isEmpty
    }

    /// Begins to prepare an import. Returns `nil` if it must run as one piece. `stepsMax`: the most steps that it may
    /// take.
    package func prepare(_ staged: StagedSubtree, time: Int64, stepsMax: Int) throws(StoreError) -> Preparation? {
        guard self.canPrepare, let write = try PreparedImport(staged, self, time: time) else { return nil }
        self.nextObjectID += Int64(staged.rowCount)
        return try self.begin(write, stepsMax: stepsMax)
    }

    /// Begins to prepare the deletion of an object with everything below it.
    package func prepareDeletion(of id: ObjectID, stepsMax: Int) throws(StoreError) -> Preparation? {
        guard self.canPrepare, let write = try PreparedRemoval(id, self) else { return nil }
        return try self.begin(write, stepsMax: stepsMax)
    }

    /// Begins to prepare the revert of a transaction that only inserted, or only deleted, objects.
    package func prepareRevert(of past: PastTransaction, time: Int64, stepsMax: Int) throws(StoreError) -> Preparation?
    {
        guard self.canPrepare else { return nil }
        var number = 0
        var first: ObjectChange?
        while first == nil, let changes = try past.part(number) { (first, number) = (changes.first, number + 1) }
        switch first?.kind {
        case .insert:
            return try PreparedRemoval(past, self).map { (write) throws(StoreError) in
                try self.begin(write, stepsMax: stepsMax)
            }
        case .delete:
            return try PreparedRestore(past, self, time: time).map { (write) throws(StoreError) in
                try self.begin(write, stepsMax: stepsMax)
            }
        case .update, nil:
            return nil
        }
    }

    /// A record of a cluster's log has a whole group, and followers apply it as one.
    var canPrepare: Bool { self.membership == nil && !self.hasPreparations }

    func begin(_ write: any PreparedWrite, stepsMax: Int) throws(StoreError) -> Preparation {
        let rows = PreparedRows(hidden: write.hidden)
        try self.inOwnTransaction { () throws(StoreError) in try rows.begin(self.connection) }
        self.connection.preparedRows = rows
        let preparation = Preparation(write, stepsMax: stepsMax)
        self.preparations.state = .preparing(preparation)
        return preparation
    }

    /// Prepares, removes or stamps about `count` more objects, in a transaction of its own. Call it outside a group.
    package func advancePreparations(_ count: Int) throws(StoreError) {
        switch self.preparations.state {
        case .idle:
            break
        case .preparing(let preparation) where preparation.state == .open:
            try self.advance(preparation, count)
        case .preparing:
            break
        case .removing(let left):
            try self.removeSome(count, left)
        case .stamping(let left):
            try self.stampSome(count, left)
        }
    }

    private func advance(_ preparation: Preparation, _ count: Int) throws(StoreError) {
        let meter = self.connection.meter
        let write = preparation.write
        preparation.state = try self.inOwnTransaction { () throws(StoreError) in
            let state: Preparation.State
            do throws(StoreError) {
                state = try meter.measure(stepsMax: preparation.stepsLeft) { () throws(StoreError) in
                    try write.prepare(count)
                }
            } catch {
                guard case .overBudget = error else { throw error }
                throw .refused(error.nestError)
            }
            if write.hidden != self.connection.hidden { try PreparedRows(hidden: write.hidden).write(self.connection) }
            return state
        }
        self.connection.preparedRows.hidden = write.hidden
        preparation.stepsLeft -= meter.lastSteps
    }

    /// Gives up the write that is being prepared. What it has written is removed by `advancePreparations`.
    package func abandonPreparation() {
        if case .preparing = self.preparations.state { self.preparations.state = .removing(self.connection.hidden) }
    }

    private func removeSome(_ count: Int, _ left: IDRuns) throws(StoreError) {
        var left = left
        var isDone = false
        try self.inOwnTransaction { () throws(StoreError) in
            guard try PreparedBlocks.removeSome(self.connection) else { return }
            isDone = try self.finishSome(count, &left) {
                PreparedRows(hidden: $0)
            } _: {
                (table, ids) throws(StoreError) in
                // Of two rows, the one that refers to the other has the greater id.
                try table.delete(ids)
            }
        }
        self.preparations.state = isDone ? .idle : .removing(left)
        // Until then `hidden` stays as it is, because each of its values needs SQL of its own.
        if isDone { self.connection.preparedRows = PreparedRows() }
    }

    private func stampSome(_ count: Int, _ left: IDRuns) throws(StoreError) {
        guard let stamping = self.connection.preparedRows.stamping else { return self.preparations.state = .idle }
        var left = left
        var isDone = false
        try self.inOwnTransaction { () throws(StoreError) in
            isDone = try self.finishSome(count, &left) {
                PreparedRows(stamping: stamping.only($0))
            } _: {
                (table, ids) throws(StoreError) in
                try table.stamp(ids, stamping)
            }
        }
        self.preparations.state = isDone ? .idle : .stamping(left)
        self.connection.preparedRows = isDone ? PreparedRows() : PreparedRows(stamping: stamping.only(left))
    }

    /// Calls `body` with each table for the last `count` ids of one run. Returns whether there are none any more.
    private func finishSome(
        _ count: Int,
        _ left: inout IDRuns,
        _ rows: (IDRuns) -> PreparedRows,
        _ body: (EntityTable, ClosedRange<Int64>) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        guard let ids = left.removeLast(count) else {
            try PreparedRows.end(self.connection)
            return true
        }
        for table in self.tables where !table.layout.isJoin { try body(table, ids) }
        try rows(left).write(self.connection)
        return false
    }

    /// Makes all rows as in the graph, at once.
    func finishPreparations() throws(StoreError) {
        try PreparedRows.finishAll(self.connection, self.layout)
        self.connection.preparedRows = PreparedRows()
        self.preparations.state = .idle
    }

    /// Notes that a group with this write is durable.
    func noteApplied(_ preparation: Preparation) { self.preparations.finish(self.connection.preparedRows) }

    private func inOwnTransaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard !self.isStopping else { throw .stopping }
        try self.connection.beginWriting()
        do throws(StoreError) {
            let result = try body()
            try self.connection.commit()
            return result
        } catch {
            for table in self.tables { table.forgetFound() }
            try self.connection.rollBack()
            throw error
        }
    }
}
