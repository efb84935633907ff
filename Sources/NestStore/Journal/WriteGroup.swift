import NestModel
import NestProtocol
import NestSchema

/// One SQLite transaction that several requests share, with one `fsync`.
///
/// A request that is refused before it has written leaves nothing to roll back. A request that may be refused later
/// runs in a savepoint. A request that fails after it has written without a savepoint throws
/// `StoreError.retryIndividually`: roll the group back and run its requests one by one in savepoints.
package final class WriteGroup {
    private let store: Store
    private let time: Int64
    private let alwaysSavepoint: Bool
    /// Whether a live result or subscription needs a changed object that goes to a block.
    let isConcerned: (ChangedRow) -> Bool
    /// The headers of its requests so far.
    private var headers: [JournalHeader] = []
    /// The inline change sets of its requests so far, in the form of the journal. Each request encodes its own behind
    /// those of the others; a request that fails removes it.
    private var changes = ByteWriter()
    /// The revision of the last request so far.
    package private(set) var revision: Revision
    private var nextObjectID: Int64
    /// The size of the blocks of its requests, in bytes.
    private var blockBytes = 0
    /// The ids that the sessions of its requests have reserved, as its requests leave them.
    private var reserved = ReservedIDs()
    /// Whether the group has something to commit besides revisions.
    private var hasNotes = false
    /// The prepared write of one of its requests.
    private var adopted: Preparation?
    /// The state of preparations before the group.
    private let preparedRows: PreparedRows?
    private let preparationState: Preparation.State?

    fileprivate init(
        _ store: Store,
        time: Int64,
        alwaysSavepoint: Bool,
        isConcerned: @escaping (ChangedRow) -> Bool
    ) throws(StoreError) {
        self.isConcerned = isConcerned
        self.store = store
        self.preparedRows = store.connection.preparedRowsIfAny
        self.preparationState = store.preparations.current?.state
        self.time = store.membership?.beginGroup(time: time) ?? time
        self.alwaysSavepoint = alwaysSavepoint
        self.revision = store.head
        self.nextObjectID = store.nextObjectID
        guard !store.isStopping else { throw .stopping }
        try store.connection.beginWriting()
    }

    /// Takes an id from those that a session has reserved. Returns `false` if it is not one of them.
    func useReserved(_ id: ObjectID, of session: UInt64) throws(StoreError) -> Bool {
        guard self.store.hasReservedIDs else { return false }
        return try self.reserved.use(id, of: session, self.store.connection)
    }

    /// Follows what a bulk write does to the large values of an object that it streams.
    func placeValues(of object: ChangedRow, _ layout: EntityLayout, _ revision: Revision) throws(StoreError) {
        let slot = try self.store.values.follow(object, layout, revision, by: .restoration)
        guard let slot else { return }
        throw ObjectGraph.refusal([ObjectGraph.valueFault(object.entity, layout, slot, nil)])
    }

    /// Writes a full block of the request that will become the next revision.
    func writeBlock(_ number: Int, _ bytes: [UInt8]) throws(StoreError) {
        self.blockBytes += try self.store.journal.appendBlock(self.nextRevision, number, bytes)
    }

    /// Makes a prepared write part of the request that will become the next revision.
    func adopt(_ preparation: Preparation) throws(StoreError) {
        let write = preparation.write
        try write.blocks.become(self.nextRevision)
        self.blockBytes += write.blocks.byteCount
        let connection = self.store.connection
        connection.preparedRows.hidden = write.hiddenAfter
        connection.preparedRows.stamping = write.insertedAt.map {
            PreparedRows.Stamping(ids: write.ids, old: $0, new: self.nextRevision)
        }
        try connection.preparedRows.write(connection)
        self.adopted = preparation
        for table in self.store.tables { table.forgetFound() }
    }

    /// Forgets what a request has adopted that is rolled back. `adopted`, `rows`: the state before the request.
    private func forgetAdopted(since adopted: Preparation?, _ rows: PreparedRows?) {
        self.adopted = adopted
        if rows != nil || self.store.connection.hasPreparedRows {
            self.store.connection.preparedRows = rows ?? PreparedRows()
        }
    }

    /// The revision that the next request to change something will become.
    private var nextRevision: Revision { self.revision.next }

    /// Runs one request. Returns `nil` if it changed nothing: it then takes no revision.
    ///
    /// `stepsMax`: the most steps of `WorkMeter` that it may take. A request that needs more is refused with
    /// LIMIT_EXCEEDED.
    package func request(
        inSavepoint: Bool,
        stepsMax: Int = Limits.writeStepsMax,
        _ body: (ObjectGraph) throws(StoreError) -> WriteDescription
    ) throws(StoreError) -> WriteResult? {
        let useSavepoint = inSavepoint || self.alwaysSavepoint
        let (blockBytes, adopted, rows) = (self.blockBytes, self.adopted, self.store.connection.preparedRowsIfAny)
        let changesStart = self.changes.count
        // Few stores have reserved ids: for the others nothing is copied.
        let reserved = self.store.hasReservedIDs ? self.reserved : nil
        let graph = self.takeGraph()
        let recorder = graph.recorder
        if useSavepoint { try self.run("SAVEPOINT request") }
        do throws(StoreError) {
            var changes: ChangeSet?
            let description = try self.measured(stepsMax: stepsMax) { () throws(StoreError) in
                let description = try body(graph)
                try graph.validate()
                if self.store.layout.hasLargeValues {
                    let (values, base) = (self.store.values, self.store.oldestBase)
                    try graph.placeValues(values, of: description.sessionNumber, base: base)
                }
                changes = try recorder.finish(into: &self.changes)
                return description
            }
            // Without a savepoint its inserts may wait for those of the group's other requests.
            if useSavepoint { try self.store.connection.pendingInserts.write() }
            // If inserts still wait, their references are not known yet: `commit` checks all of them.
            if self.store.connection.pendingInserts.isEmpty { try self.refuseBrokenReferences() }
            guard let changes else {
                if let reserved { self.reserved = reserved }
                if useSavepoint {
                    try self.rollBackRequest()
                    try self.run("RELEASE request")
                    self.blockBytes = blockBytes
                } else if recorder.hasWritten {
                    throw .refused(.internalError, "the request wrote and changed nothing: this is a bug in nest")
                }
                return nil
            }
            let result = try self.add(description, changes, from: changesStart, recorder.finishedRepositions)
            self.nextObjectID = graph.nextObjectID
            Failpoint.requestDone.pass()
            if useSavepoint { try self.run("RELEASE request") }
            if graph.isPlain { self.spareGraph = graph }
            return result
        } catch {
            self.blockBytes = blockBytes
            if let reserved { self.reserved = reserved }
            self.removeChanges(from: changesStart)
            self.forgetAdopted(since: adopted, rows)
            // Rolling back the request alone could take as long as the request has taken.
            if self.store.isStopping, self.store.connection.isInTransaction { try self.rollback() }
            // FULL and INTERRUPT roll back the whole transaction, including its savepoints.
            guard self.store.connection.isInTransaction else { throw error.retryingIndividually }
            if useSavepoint {
                try self.rollBackRequest()
                try self.run("RELEASE request")
            } else if recorder.hasWritten {
                throw error.retryingIndividually
            }
            throw error
        }
    }

    /// The graph of the last request that succeeded. Nothing of a request that failed is used again.
    private var spareGraph: ObjectGraph?

    /// The capacity of `changes` beyond what it holds that is kept after a large request.
    private static let keptBytesMax = 1 << 16

    /// Removes the inline change set that begins at `start`. One large request is no reason to keep its memory.
    private func removeChanges(from start: Int) {
        self.changes.truncate(to: start)
        if self.changes.bytes.capacity > start + Self.keptBytesMax {
            self.changes.bytes = Array(unsafeUninitializedCapacity: start + 64) { buffer, count in
                count = buffer.initialize(fromContentsOf: self.changes.bytes)
            }
        }
    }

    /// Returns a graph for the next request.
    private func takeGraph() -> ObjectGraph {
        if let graph = self.spareGraph {
            self.spareGraph = nil
            graph.begin(self.nextRevision, nextObjectID: self.nextObjectID, time: self.time, nil)
            return graph
        }
        if let graph = self.store.takeSpareGraph() {
            graph.begin(self.nextRevision, nextObjectID: self.nextObjectID, time: self.time, self)
            return graph
        }
        return ObjectGraph(
            layout: self.store.layout,
            tables: self.store.tables,
            recorder: ChangeRecorder(
                revision: self.nextRevision,
                layout: self.store.layout,
                changedMax: self.store.streamedFrom,
                orderStep: self.store.orderStep,
                group: self
            ),
            memory: self.store.bulkMemory,
            nextObjectID: self.nextObjectID,
            time: self.time
        )
    }

    /// The number of steps of all requests so far.
    package private(set) var steps = 0

    /// Turns a request that takes too many steps into a refusal.
    private func measured<Result>(stepsMax: Int, _ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        let meter = self.store.connection.meter
        defer { self.steps += meter.lastSteps }
        do throws(StoreError) {
            return try meter.measure(stepsMax: stepsMax, body)
        } catch {
            guard case .overBudget = error else { throw error }
            throw .refused(error.nestError)
        }
    }

    private func run(_ sql: String) throws(StoreError) {
        try self.store.connection.statement(sql).run()
    }

    /// Refuses a request that leaves a reference to a missing object, which is a bug in nest: the commit of the whole
    /// group would fail.
    private func refuseBrokenReferences() throws(StoreError) {
        let count = self.store.connection.deferredForeignKeyViolations()
        guard count == 0 else {
            throw .refused(
                .internalError,
                "the request would leave references to missing objects: this is a bug in nest"
            )
        }
    }

    /// `start`: where its inline change set begins in `changes`. `repositions`: all its renumberings.
    private func add(
        _ description: WriteDescription,
        _ changes: ChangeSet,
        from start: Int,
        _ repositions: [Reposition]
    ) throws(StoreError) -> WriteResult {
        // Live queries read `changedRows` and the streamed blocks, not the blocks written here from `changedRows`.
        var blockCount = changes.blockCount
        if self.changes.count - start > self.store.inlineBytesMax {
            try self.moveToBlocks(changes, from: start, repositions, &blockCount)
        }
        let header = JournalHeader(
            revision: changes.revision,
            time: self.time,
            sessionNumber: description.sessionNumber,
            kind: description.kind,
            reverted: description.reverted,
            name: description.name,
            key: description.key,
            requestHash: description.requestHash,
            results: description.results,
            entry: description.entry,
            coalescingKey: description.coalescingKey,
            scope: description.scope,
            user: description.user,
            blockCount: blockCount,
            inlineBytes: self.changes.count - start
        )
        if let preparation = self.store.preparations.current, preparation !== self.adopted {
            preparation.note(changes)
        }
        self.headers.append(header)
        self.revision = header.revision
        return WriteResult(header: header, changes: changes)
    }

    /// Moves the objects of a change set that is too large for the group's row to blocks, after the blocks already
    /// streamed.
    private func moveToBlocks(
        _ changes: ChangeSet,
        from start: Int,
        _ repositions: [Reposition],
        _ blockCount: inout Int
    ) throws(StoreError) {
        var block = ByteWriter()
        func flush() throws(StoreError) {
            guard block.count > 0 else { return }
            self.blockBytes += try self.store.journal.appendBlock(changes.revision, blockCount, block.bytes)
            blockCount += 1
            block.bytes.removeAll(keepingCapacity: true)
        }
        for object in changes.changedRows {
            guard let layout = self.store.layout[object.entity], let change = object.change(layout) else { continue }
            block.write(change: change, layout: layout)
            if block.count >= Limits.journalBlockBytes { try flush() }
        }
        try flush()
        self.removeChanges(from: start)
        self.changes.write(count: 0)
        self.changes.write(count: repositions.count)
        for reposition in repositions { self.changes.write(reposition: reposition) }
    }

    /// Runs several requests that succeed or fail together.
    package func together<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        let before = (self.headers.count, self.changes.count, self.revision, self.nextObjectID, self.blockBytes)
        let (adopted, rows) = (self.adopted, self.store.connection.preparedRowsIfAny)
        let reserved = self.reserved
        try self.run("SAVEPOINT entry")
        do {
            let result = try body()
            try self.run("RELEASE entry")
            return result
        } catch {
            guard self.store.connection.isInTransaction else { throw error.retryingIndividually }
            try self.store.connection.rollBack(to: "entry")
            try self.run("RELEASE entry")
            for table in self.store.tables { table.forgetFound() }
            self.headers.removeSubrange(before.0...)
            self.changes.truncate(to: before.1)
            (self.revision, self.nextObjectID, self.blockBytes) = (before.2, before.3, before.4)
            self.forgetAdopted(since: adopted, rows)
            self.reserved = reserved
            throw error
        }
    }

    /// Completes the last request's header with values that are known only after all requests of an entry. Returns the
    /// new result. `result`: that of the last request so far.
    package func complete(
        _ result: WriteResult,
        key: Identifier128?,
        conflicts: UndoConflicts,
        revisionCount: Int = 1
    ) -> WriteResult {
        precondition(self.headers.last === result.header, "only the last request is completed")
        let header = result.header.answering(
            key,
            conflicts,
            revisionCount: self.store.membership == nil ? 1 : revisionCount
        )
        self.headers[self.headers.count - 1] = header
        return WriteResult(header: header, changes: result.changes)
    }

    /// Records that undo skips an entry, by its newest revision. `answer`: the stored reply for an idempotent retry, if
    /// the request had a key.
    package func block(_ revision: Revision, answer: JournalHeader?) throws(StoreError) {
        var bytes = ByteWriter()
        if let answer { bytes.write(header: answer) }
        try self.store.block(revision, answer: bytes.bytes)
        self.store.membership?.notes.append(.blocked(revision, answer: bytes.bytes))
        self.hasNotes = true
    }

    /// Makes the group durable: after this returns, its requests may be acknowledged; with `Store.logSync`, after its
    /// next sync.
    ///
    /// In a cluster the group is durable when its record is in the cluster's log. `overtaken`, `offTheLog`, a refusal:
    /// it never happened. `uncertain`: see `Store.uncertain`. In these cases the group is rolled back.
    package func commit() throws(StoreError) {
        guard let last = self.headers.last?.revision else {
            guard self.hasNotes else { return try self.rollback() }
            if let membership = self.store.membership { return try self.append(nil, membership) }
            return try self.store.connection.commit()
        }
        do throws(StoreError) {
            try self.store.connection.pendingInserts.write()
            try self.refuseBrokenReferences()
            let changed = try self.reserved.write(self.store.connection)
            self.store.membership?.notes += changed.map { .reserved($0, $1) }
        } catch {
            throw error.retryingIndividually
        }
        let row = try self.store.journal.append(
            self.headers,
            changes: self.changes.bytes,
            nextObjectID: self.nextObjectID,
            time: self.time
        )
        Failpoint.commitWritten.pass()
        if let membership = self.store.membership {
            try self.append(row, membership)
        } else {
            try self.store.connection.commit()
        }
        if let sync = self.store.logSync { sync.groupWritten() } else { Failpoint.commitDurable.pass() }
        self.store.head = last
        self.store.nextObjectID = self.nextObjectID
        if let adopted { self.store.noteApplied(adopted) }
        if let graph = self.spareGraph { self.store.keep(graph) }
        self.store.journalBytes += Int64(row.byteCount + self.blockBytes)
    }

    /// Appends the group's record to the cluster's log, and commits. `row`: `nil` without a revision.
    private func append(_ row: LogRecord.Row?, _ membership: LogMembership) throws(StoreError) {
        let blockCount = self.headers.reduce(0) { $0 + $1.blockCount }
        let record: LogRecord
        do throws(StoreError) {
            record = try LogRecord(
                row == nil ? .notes : .group,
                writer: try membership.writerOrRefusal(),
                time: self.time,
                head: self.revision,
                row: row,
                notes: membership.takeNotes(),
                blockCount: blockCount,
                directory: self.store.bulkMemory.directory,
                forEachBlock: { (body) throws(StoreError) in
                    guard blockCount > 0, let row else { return }
                    try self.store.journal.forEachBlock(from: row.first, through: row.last, body)
                }
            )
        } catch {
            // A record that is too large alone is refused alone.
            throw self.headers.count > 1 && error.refusal?.code == .limitExceeded ? error.retryingIndividually : error
        }
        try self.store.append(record, membership)
    }

    private func rollBackRequest() throws(StoreError) {
        try self.store.connection.rollBack(to: "request")
        for table in self.store.tables { table.forgetFound() }
    }

    package func rollback() throws(StoreError) {
        for table in self.store.tables { table.forgetFound() }
        self.forgetAdopted(since: nil, self.preparedRows)
        // A preview, or a group that failed, has changed nothing.
        if let preparationState { self.store.preparations.current?.state = preparationState }
        try self.store.connection.rollBack()
    }
}

extension Store {
    /// Opens a group. Call it inside `access`, and end the group with `commit` or `rollback`. `isConcerned`: whether a
    /// live result or subscription needs an object that a bulk write changes.
    package func beginGroup(
        time: Int64,
        alwaysSavepoint: Bool,
        isConcerned: @escaping (ChangedRow) -> Bool = { _ in true }
    ) throws(StoreError) -> WriteGroup {
        try WriteGroup(self, time: time, alwaysSavepoint: alwaysSavepoint, isConcerned: isConcerned)
    }
}
