import DequeModule
import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// The outlines that connections follow. Each belongs to one connection.
///
///     current ──a batch changes rows──▶ current             its difference is sent, or the connection lags behind it
///     current ──too much to read at once──▶ stale ──read in the background, changes since applied──▶ current
final class Outlines {
    let store: Store
    let scopes: TokenScopes
    let connections: EngineConnections
    let admission: Admission
    let live: LiveResults
    let lagging: LaggingViews
    let replies: Replies
    let reads: BackgroundReads
    let authors: AuthorPushes
    let counters: EngineCounters
    let window: OutlineWindow
    /// Objects that may be examined between two commits for one outline.
    let examinedMax: Int
    /// Changed objects that are followed one by one.
    let changesMax: Int
    /// Rows that an outline may have.
    let rowsMax: Int
    private let ids: ViewIDs
    private var all: [UInt32: Outline] = [:]
    private(set) var byTable: [EntityNumber: [UInt32: Outline]] = [:]
    /// What the outlines depend on, and those that are being read.
    var interest = OutlineInterest()
    var work = OutlineWork()
    /// An error of the store that no request was answered with.
    private(set) var failure: StoreError?
    /// Outlines whose position may differ from the one that their connection knows.
    private var movedIDs: Set<UInt32> = []
    /// Ends the subscription of a connection to a view that is no outline.
    var endList: ((ConnectionID, UInt32, _ now: Int64) throws(StoreError) -> Void)?
    /// Reads that run in the background, by their ids.
    var pending: [UInt64: OutlineReading] = [:]
    /// Outlines that could not be followed, in the order in which they are read anew.
    var stale: Deque<UInt32> = []
    /// The bytes of all outlines.
    private(set) var byteCount = 0

    init(
        _ store: Store,
        _ limits: EngineLimits,
        _ scopes: TokenScopes,
        _ connections: EngineConnections,
        _ admission: Admission,
        _ live: LiveResults,
        _ lagging: LaggingViews,
        _ replies: Replies,
        _ reads: BackgroundReads,
        _ authors: AuthorPushes,
        _ ids: ViewIDs,
        _ counters: EngineCounters
    ) {
        self.store = store
        self.scopes = scopes
        self.connections = connections
        self.admission = admission
        self.live = live
        self.lagging = lagging
        self.replies = replies
        self.reads = reads
        self.authors = authors
        self.ids = ids
        self.counters = counters
        self.window = OutlineWindow(store: store, scopes: scopes, related: live.related)
        self.examinedMax = limits.backgroundReadRowsMin
        self.changesMax = limits.dependencyChangesMax
        self.rowsMax = limits.outlineRowsMax
    }

    subscript(id: UInt32) -> Outline? { self.all[id] }

    var count: Int { self.all.count }
    /// The tables on which outlines depend.
    var tables: Set<EntityNumber> { self.count > 0 || !self.pending.isEmpty ? self.interest.tables : [] }
    var rowCount: Int { self.all.values.reduce(0) { $0 + $1.rows.count } }
    /// The outlines in the order of their ids, in which they are served.
    var sorted: [Outline] { self.all.values.sorted { $0.id < $1.id } }

    /// Returns an outline of a connection.
    func outline(_ id: UInt32, of connection: ConnectionID) -> Outline? {
        self.all[id].flatMap { $0.connection == connection ? $0 : nil }
    }

    // MARK: Begin and end

    /// Refuses another outline of a connection that has its number of outlines. `replacing`: the view that it replaces.
    func requireRoom(_ connection: EngineConnection, replacing old: UInt32? = nil) throws(StoreError) {
        let count = connection.views.count { $0 != old && self.all[$0] != nil }
        guard count < Limits.outlinesPerConnectionMax else {
            throw .refused(
                .limitExceeded,
                "a connection may have \(Limits.outlinesPerConnectionMax) outlines: end another one first"
            )
        }
    }

    /// The number of outlines of a connection.
    func count(of connection: EngineConnection) -> Int { connection.views.count { self.all[$0] != nil } }

    func insert(_ plan: OutlinePlan, _ rows: OutlineTree, hasRoot: Bool, for connection: EngineConnection) -> Outline {
        let outline = Outline(id: self.ids.take(), connection: connection.id, plan, head: self.store.head)
        outline.rows = rows
        outline.hasRoot = hasRoot
        if connection.isBlocked { outline.laggingSince = self.store.head }
        self.all[outline.id] = outline
        self.byTable[plan.source.table, default: [:]][outline.id] = outline
        self.interest.add(plan.source)
        self.noteSize(of: outline)
        connection.views.insert(outline.id)
        return outline
    }

    /// Ends an outline. Returns whether the connection had it.
    func end(_ id: UInt32, of connection: ConnectionID) -> Bool {
        guard self.outline(id, of: connection) != nil else { return false }
        self.remove(id)
        guard let connection = self.connections[connection] else { return true }
        connection.views.remove(id)
        // Replies that waited for this view need not wait any longer.
        if connection.laggingViews.contains(id) { self.lagging.append(connection.id, id) }
        return true
    }

    private func remove(_ id: UInt32) {
        guard let outline = self.all.removeValue(forKey: id) else { return }
        self.byTable[outline.source.table]?[id] = nil
        self.interest.remove(outline.source)
        self.byteCount -= outline.countedBytes
        self.live.noteGrowth(-outline.countedBytes)
        self.movedIDs.remove(id)
        self.ids.release(id)
    }

    /// Ends the outlines of a connection that is gone.
    func leaveAll(_ connection: EngineConnection) {
        for id in connection.views where self.all[id] != nil { self.remove(id) }
    }

    /// Ends an outline with an error. Nothing more is sent with its id.
    func end(_ outline: Outline, _ error: NestError, _ effects: inout [EngineEffect]) {
        guard self.all[outline.id] === outline else { return }
        effects.append(
            .push(EnginePush(view: outline.id, content: .end(error.code, error.message)), to: [outline.connection])
        )
        self.remove(outline.id)
        guard let connection = self.connections[outline.connection] else { return }
        connection.views.remove(outline.id)
        if connection.laggingViews.remove(outline.id) != nil, !connection.isWaiting {
            self.replies.release(connection, &effects)
        }
    }

    // MARK: Rows

    /// Returns a reader of rows at the head. It postpones a read that would delay commits.
    func reader(_ source: OutlineSource, budget: Int? = nil, room: Int? = nil) -> OutlineReader {
        OutlineReader(source, self.store.objects, self.live.related, budget: budget ?? self.examinedMax, room: room)
    }

    /// Whether the object above an outline exists and the connection may see it.
    func hasRoot(_ source: OutlineSource, _ scope: AuthorisationScope) throws(StoreError) -> Bool {
        guard try self.store.row(source.table, source.root) != nil else { return false }
        guard let confinement = try scope.confinement(self.store, self.scopes) else { return true }
        return try confinement.contains(source.root)
    }

    /// Reads all rows of an outline. Postpones a large read. Returns the number of objects examined, too.
    func read(
        _ source: OutlineSource,
        _ scope: AuthorisationScope,
        budget: Int? = nil
    ) throws(StoreError) -> (rows: OutlineTree, hasRoot: Bool, examined: Int) {
        var rows = OutlineTree()
        guard try self.hasRoot(source, scope) else { return (rows, false, 1) }
        var reader = self.reader(source, budget: budget)
        let before = reader.budget
        defer {
            self.admission.work += before - reader.budget
            self.work.examined += before - reader.budget
        }
        rows.reset(try reader.rows(below: source.root, depth: 0).rows)
        return (rows, true, before - reader.budget)
    }

    // MARK: Blocked connections

    /// Notes that a connection is blocked: its differences will start from the state that it has now.
    func block(_ connection: EngineConnection) {
        for id in connection.views {
            if let outline = self.all[id], outline.laggingSince == nil { outline.laggingSince = self.store.head }
        }
    }

    /// Brings a connection up to date with one of its outlines, if it lags. Returns `false` if there is no such
    /// outline.
    func catchUp(_ id: UInt32, of connection: ConnectionID, _ effects: inout [EngineEffect]) -> Bool {
        guard let outline = self.outline(id, of: connection) else { return false }
        guard let base = outline.laggingSince else { return true }
        guard !outline.isStale else {
            // It catches up when it has been read.
            self.connections[connection]?.laggingViews.insert(id)
            return true
        }
        outline.laggingSince = nil
        do {
            // PROGRESS may have raised the revision of the client's state to `base`, so that it fits no diff that ends
            // there, except one of this revision alone: SET_EXPANDED caused it, and no commit has followed.
            let from = base == self.store.head ? base : outline.lastChange
            let start = effects.count
            if try self.sendDifference(outline, from: from, &effects) == .difference {
                self.counters.netDiffs += 1
                let push = Array(effects[start...])
                effects.removeSubrange(start...)
                try self.authors.push(after: base, to: connection, &effects)
                effects += push
            }
        } catch {
            self.note(error)
            self.end(outline, error.nestError, &effects)
        }
        return true
    }

    // MARK: Faults

    /// Notes an error that makes the store unusable, though no request waits.
    func note(_ error: StoreError) { if error.isFatal, self.failure == nil { self.failure = error } }

    func takeFailure() -> StoreError? {
        defer { self.failure = nil }
        return self.failure
    }

    // MARK: Pushes

    enum Sent {
        case nothing
        case difference
        case snapshot
    }

    /// Sends the difference between what a connection has and what its window shows now. `isAnswer`: a changed position
    /// alone is sent at once, and not by the position timer.
    @discardableResult
    func sendDifference(
        _ outline: Outline,
        from: Revision,
        isAnswer: Bool = false,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) -> Sent {
        guard let scope = self.connections[outline.connection]?.scope else { return .nothing }
        self.work.compared += 1
        let rows = try self.rows(of: outline)
        let diff = try self.window.difference(
            from: outline,
            to: rows,
            of: outline.rows,
            outline,
            scope,
            from: from
        )
        let position = outline.position
        guard !diff.isEmpty || position.anchor != outline.sentPosition?.anchor else {
            outline.noteUnchanged()
            guard position != outline.sentPosition else { return .nothing }
            if isAnswer {
                self.send(position, of: outline, &effects)
            } else {
                self.movedIDs.insert(outline.id)
            }
            return .nothing
        }
        var body = ByteWriter()
        body.write(diff: diff)
        guard body.count <= Limits.sharedDiffBytesMax else {
            self.sendSnapshot(outline, rows, .largeChange, &effects)
            return .snapshot
        }
        self.counters.diffs += 1
        effects.append(.push(EnginePush(view: outline.id, content: .diff(body.bytes)), to: [outline.connection]))
        outline.noteSent(rows, position, at: self.store.head)
        self.noteSize(of: outline)
        return .difference
    }

    /// Returns the rows of a window, with the values that the connection has already if their objects are unchanged.
    func rows(of outline: Outline) throws(StoreError) -> [Outline.SentRow] {
        self.admission.work += outline.range.count / 8
        var readCount = 0
        defer { self.work.valuesRead += readCount }
        return try self.window.rows(outline.range, of: outline.rows, outline.source, outline.columns) { id in
            let known = outline.sentValues(id)
            if known == nil { readCount += 1 }
            return known
        }
    }

    func sendSnapshot(
        _ outline: Outline,
        _ rows: [Outline.SentRow],
        _ reason: SnapshotReason,
        _ effects: inout [EngineEffect]
    ) {
        let (header, bodies) = self.window.snapshot(rows, of: outline.rows, outline.window, reason)
        self.counters.snapshots += 1
        let push = EnginePush(view: outline.id, content: .snapshot(header, rows: bodies))
        effects.append(.push(push, to: [outline.connection]))
        let isLagging = self.connections[outline.connection]?.isBlocked == true
        outline.noteSent(rows, header.window, at: self.store.head)
        self.noteSize(of: outline)
        if isLagging { outline.laggingSince = self.store.head }
        guard let connection = self.connections[outline.connection] else { return }
        self.admission.charge(bodies.reduce(64) { $0 + $1.bytes.count }, to: connection, &effects)
    }

    private func send(_ position: WindowPosition, of outline: Outline, _ effects: inout [EngineEffect]) {
        outline.sentPosition = position
        let push = EnginePush(view: outline.id, content: .position(position, self.store.head))
        effects.append(.push(push, to: [outline.connection]))
    }

    /// Notes that the position of a window may have changed.
    func noteMoved(_ outline: Outline) { self.movedIDs.insert(outline.id) }

    /// Sends the positions that have changed; called by the position timer.
    func pushPositions(_ effects: inout [EngineEffect]) {
        for id in self.movedIDs.sorted() {
            guard let outline = self.all[id], outline.laggingSince == nil, !outline.isStale else { continue }
            let position = outline.position
            if position != outline.sentPosition { self.send(position, of: outline, &effects) }
        }
        self.movedIDs = []
    }

    // MARK: Memory

    /// Notes that an outline has another size, so that what needs more memory is refused when it is used up.
    func noteSize(of outline: Outline) {
        guard self.all[outline.id] === outline else { return }
        let growth = outline.byteCount - outline.countedBytes
        outline.countedBytes += growth
        self.byteCount += growth
        self.live.noteGrowth(growth)
    }

    /// While the live results and the outlines exceed their memory limit: ends the largest outlines, as long as each
    /// takes more than any live result.
    func shed(_ effects: inout [EngineEffect]) {
        guard self.live.isOverfull, self.count > 0 else { return }
        let largestResult = self.live.registry.all.lazy.map(\.byteCount).max() ?? 0
        for outline in self.all.values.sorted(by: { ($1.byteCount, $0.id) < ($0.byteCount, $1.id) }) {
            guard self.live.isOverfull, outline.byteCount >= largestResult else { return }
            let error = NestError(
                .busy,
                "the memory for live results is used up, and this outline is the largest: fold some of it"
            )
            self.end(outline, error, &effects)
        }
    }

    /// The outline that takes most memory.
    var largest: Outline? { self.all.values.max { ($0.byteCount, $1.id) < ($1.byteCount, $0.id) } }
}
