import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestClient

/// Outlines that begin with a cached state, step by step.
@Suite struct CachedOutlineTests: ClientSteps {
    private static let view = Limits.viewIDMin + 3
    private static let subscriber = SubscriberID(1)
    private static let projection: [PropertyNumber] = [PropertyNumber(1), .outlineChildren, .outlineDepth]

    private static func request(_ outline: FetchOutline = FetchOutline()) -> ObjectFetchRequest {
        var request = Fixtures.request
        request.projection = Self.projection
        request.window = .range(offset: 0, limit: 10)
        request.outline = outline
        return request
    }

    private static func row(_ id: Int64, _ title: String = "t", children: Int64 = -2, depth: Int64 = 0) -> Row {
        Row(id: ObjectID(id), values: [.string(title), .integer(children), .integer(depth)])
    }

    private static func state(_ rows: [Row], revision: UInt64 = 5) -> SectionedSnapshot {
        var state = Fixtures.state(revision, rows)
        state.projection = Self.projection
        state.window = WindowPosition(total: rows.count, sectionTotal: 1, start: WindowStart())
        return state
    }

    /// Object 2 is unfolded, with 3 below it.
    private static let unfolded = Self.state([Self.row(2, children: 1), Self.row(3, depth: 1), Self.row(4)])

    private static func folds(_ asked: FetchOutline, _ states: [ExpandedState]) -> OutlineFolds {
        var folds = OutlineFolds(asked)
        folds.set(states)
        return folds
    }

    private static func cached(
        _ state: SectionedSnapshot = Self.unfolded,
        asked: FetchOutline = FetchOutline(),
        _ states: [ExpandedState] = [ExpandedState(ObjectID(2), isExpanded: true)]
    ) -> CachedView {
        var view = SharedCache.view(state, of: Self.request(asked), history: 7, modelHash: 0)
        view.frames = KeptOutline.frames(Self.request(asked), Self.folds(asked, states)) + view.frames
        view.sequence = view.frames.count
        return view
    }

    private static func machine(_ cached: CachedView?) throws -> (ClientStateMachine, [ClientAction]) {
        var machine = ClientStateMachine(
            hello: Hello(clientName: "t", session: Identifier128(high: 1, low: 2)),
            seed: 1,
            usesCache: true
        )
        let loaded = try cached?.load(as: Self.request())
        let actions = machine.subscribe(Self.subscriber, to: Self.request(), cached: loaded)
        return (machine, actions)
    }

    private static func queue() -> ResultsQueue {
        ResultsQueue(Self.request(), verifiesDigest: true, onTaken: { _ in }, onMismatch: { Issue.record("\($0)") })
    }

    private static func deliver(_ actions: [ClientAction], to queue: ResultsQueue) {
        for case .deliver(let element, _, _) in actions { _ = queue.append(element, byteCount: 0) }
    }

    private static func changes(_ actions: [ClientAction]) -> [CacheChange] {
        actions.compactMap { if case .cache(let change) = $0 { change } else { nil } }
    }

    /// Answers SUBSCRIBE or RESUBSCRIBE with a snapshot.
    private static func answer(_ machine: inout ClientStateMachine, _ id: UInt32, _ state: SectionedSnapshot)
        -> [ClientAction]
    {
        let subscribed = Subscribed(view: Self.view, first: .snapshot, reason: "", projection: Self.projection)
        var actions = machine.received(Self.frame(subscribed, id: id), now: Self.start)
        var header = Fixtures.header(state)
        header.window = state.window ?? header.window
        var first = Self.frame(SnapshotMessage(header), id: Self.view)
        first.flags = .more
        actions += machine.received(first, now: Self.start)
        let rows = Fixtures.rows(state.sections[0].rows)
        return actions + machine.received(Self.frame(rows, id: Self.view), now: Self.start)
    }

    private static func subscribe(_ actions: [ClientAction]) throws -> (id: UInt32, message: Subscribe) {
        let frame = try #require(try Self.frames(actions).first { $0.type == Subscribe.type.rawValue })
        return (frame.id, try Subscribe(body: frame.body))
    }

    // MARK: The first rows

    /// The server sends a snapshot, which becomes the difference to the cached rows: nothing is empty in between.
    @Test func anOutlineBeginsWithItsRowsAndFoldStatesAndGetsTheDifference() throws {
        var (machine, begun) = try Self.machine(Self.cached())
        let queue = Self.queue()
        Self.deliver(begun, to: queue)
        #expect(queue.advance() == .snapshot(.first))
        #expect(queue.state == Self.unfolded && !queue.isCurrent && queue.isFromCache)
        let welcomed = Self.welcome(&machine, nil, revision: 9)
        let (id, message) = try Self.subscribe(welcomed)
        #expect(message.request.outline == FetchOutline(.none, exceptions: [ObjectID(2)]))
        #expect(message.atLeast >= Revision(5))
        let now = Self.state([Self.row(4), Self.row(2, children: 2), Self.row(3, "new", depth: 1)], revision: 9)
        let answered = Self.answer(&machine, id, now)
        Self.deliver(welcomed + answered, to: queue)
        #expect(queue.advance() == .resumed(Revision(5)))
        #expect(!queue.isCurrent && queue.state == Self.unfolded)
        guard case .diff(let diff)? = queue.advance() else {
            Issue.record("no difference")
            return
        }
        #expect(diff.from == Revision(5) && diff.to == Revision(9) && diff.moves.count == 1 && diff.updates.count == 2)
        #expect(queue.state == now && queue.isCurrent && !queue.isFromCache)
        #expect(queue.advance() == nil)
        // The cache has the new rows with all fold states.
        guard case .replace(let view)? = Self.changes(answered).last else {
            Issue.record("the rows are not recorded")
            return
        }
        let loaded = try view.load(as: Self.request())
        #expect(loaded.state == now && loaded.folds?.last == machine.askedFolds(of: Self.subscriber))
    }

    @Test func rowsThatHaveNotChangedAreConfirmedWithoutADifference() throws {
        var (machine, begun) = try Self.machine(Self.cached())
        let queue = Self.queue()
        let welcomed = Self.welcome(&machine, nil, revision: 9)
        let same = Self.state(Self.unfolded.sections[0].rows, revision: 9)
        let answered = Self.answer(&machine, try Self.subscribe(welcomed).id, same)
        Self.deliver(begun + welcomed + answered, to: queue)
        #expect(queue.advance() == .snapshot(.first))
        #expect(queue.advance() == .resumed(Revision(5)))
        #expect(queue.advance() == .progress(Revision(9)))
        #expect(queue.isCurrent && queue.state == same)
    }

    /// A view that animates asks for the events before the change.
    @Test func theEventsOfTheDifferenceAreKnownBeforeIt() async throws {
        let (_, begun) = try Self.machine(Self.cached())
        let queue = Self.queue()
        Self.deliver(begun, to: queue)
        #expect(queue.advance() == .snapshot(.first))
        let now = Self.state([Self.row(2, children: 1), Self.row(3, depth: 1)], revision: 9)
        _ = queue.append(.snapshot(now, .first, digest: now.digest, of: Self.request()), byteCount: 0)
        let events = try await queue.upcoming()
        #expect(events.count == 3)
        guard case .diff(let diff)? = queue.advance() else {
            Issue.record("no difference")
            return
        }
        #expect(diff.deletedRows.map(\.id) == [ObjectID(4)])
    }

    /// The connection is lost between SUBSCRIBED and the snapshot: the rows stay, and the next snapshot is the
    /// difference.
    @Test func aConnectionLostBeforeTheSnapshotChangesNothing() throws {
        var (machine, begun) = try Self.machine(Self.cached())
        let queue = Self.queue()
        var actions = begun + Self.welcome(&machine, nil, revision: 9)
        let subscribed = Subscribed(view: Self.view, first: .snapshot, reason: "", projection: Self.projection)
        actions += machine.received(Self.frame(subscribed, id: try Self.subscribe(actions).id), now: Self.start)
        actions += machine.channelClosed(nil, now: Self.start)
        _ = machine.backoffEnded()
        let again = Self.welcome(&machine, nil, revision: 9)
        let now = Self.state([Self.row(4)], revision: 9)
        actions += Self.answer(&machine, try Self.subscribe(again).id, now)
        Self.deliver(actions, to: queue)
        var taken: [FetchedResultsChange] = []
        while let change = queue.advance() { taken.append(change) }
        #expect(!taken.contains { if case .reset = $0 { true } else { false } })
        #expect(taken.count { if case .diff = $0 { true } else { false } } == 1)
        #expect(queue.state == now)
    }

    /// Numbers of another history may mean other objects: its fold states are dropped with the rows.
    @Test func anotherHistoryDropsRowsAndFoldStates() throws {
        var (machine, begun) = try Self.machine(Self.cached())
        let queue = Self.queue()
        let welcomed = Self.welcome(&machine, nil, history: 8, revision: 3)
        let (id, message) = try Self.subscribe(welcomed)
        #expect(message.request.outline == FetchOutline() && message.resume == nil)
        guard case .remove? = Self.changes(welcomed).first else {
            Issue.record("the state is not removed")
            return
        }
        Self.deliver(begun + welcomed + Self.answer(&machine, id, Self.state([Self.row(4)], revision: 3)), to: queue)
        #expect(queue.advance() == .snapshot(.first))
        _ = queue.advance()
        guard case .reset(let reset)? = queue.advance() else {
            Issue.record("no reset")
            return
        }
        #expect(reset.cause == .cache && reset.message.contains("history"))
        #expect(queue.advance() == .snapshot(.first))
        #expect(queue.state.total == 1 && queue.isCurrent)
    }

    /// Programs may keep the fold states themselves. One that asks for others gets those.
    @Test func foldStatesThatTheProgramNamesWin() throws {
        let folds = try #require(
            try Self.cached(asked: FetchOutline(.none, exceptions: [ObjectID(4)])).load(as: Self.request()).folds
        )
        #expect(folds.continues(FetchOutline(.none, exceptions: [ObjectID(4)])))
        #expect(folds.continues(FetchOutline(.none, exceptions: [ObjectID(4), ObjectID(2)])))
        #expect(!folds.continues(FetchOutline()))
        #expect(!folds.continues(FetchOutline(.all)))
    }

    // MARK: Damage

    @Test func framesThatAreNoneOfAnOutlineAreRefused() throws {
        func refuses(_ change: (inout CachedView) -> Void, as request: ObjectFetchRequest = Self.request()) {
            var view = Self.cached()
            change(&view)
            #expect(throws: CacheFault.self) { try view.load(as: request) }
        }
        refuses { $0.frames.removeFirst() }
        refuses { $0.frames[1].body.removeLast() }
        refuses { $0.digest ^= 1 }
        refuses { $0.frames.append(CachedFrame(type: SetExpanded.type.rawValue, body: [1])) }
        var list = Self.request()
        list.outline = nil
        refuses({ _ in }, as: list)
        // Rows without a depth, or with a depth that is none.
        let wrong = Self.state([Self.row(2, depth: -1)])
        #expect(throws: CacheFault.self) { try Self.cached(wrong).load(as: Self.request()) }
        var narrow = Fixtures.state(5, [Fixtures.row(2, "a")])
        narrow.window = WindowPosition(total: 1, sectionTotal: 1, start: WindowStart())
        #expect(throws: CacheFault.self) { try Self.cached(narrow).load(as: Self.request()) }
    }

    // MARK: Recording

    /// A machine that shows `unfolded`, and what the cache has of it.
    private static func live() throws -> (ClientStateMachine, MemoryCache) {
        var (machine, _) = try Self.machine(nil)
        var cache = MemoryCache()
        let (id, _) = try Self.subscribe(Self.welcome(&machine, nil, revision: 5))
        for change in Self.changes(Self.answer(&machine, id, Self.unfolded)) { cache.record(change) }
        #expect(cache.views.count == 1)
        return (machine, cache)
    }

    private static func loaded(_ cache: MemoryCache) throws -> LoadedView {
        let view = try #require(cache.views[Self.request().cacheKey])
        #expect(try view.rewritten().load(as: Self.request()).folds == view.load(as: Self.request()).folds)
        return try view.load(as: Self.request())
    }

    private static func scroll(
        _ machine: inout ClientStateMachine,
        _ cache: inout MemoryCache,
        to offset: Int,
        _ diff: ResultsDiff
    ) throws {
        let edit = OutlineEdit(window: .range(offset: offset, limit: 10))
        let frames = try Self.frames(machine.edit(Self.subscriber, edit, RequestToken(1)))
        let subscribed = Subscribed(view: Self.view, first: .difference, reason: "", projection: Self.projection)
        var actions = machine.received(Self.frame(subscribed, id: frames[0].id), now: Self.start)
        actions += machine.received(Self.frame(Fixtures.body(diff), id: Self.view), now: Self.start)
        for change in Self.changes(actions) { cache.record(change) }
    }

    private static func step(to state: SectionedSnapshot, from old: SectionedSnapshot) throws -> ResultsDiff {
        try #require(ResultsDiff(from: old, to: state, digest: state.digest))
    }

    /// The cache keeps the rows that a new run asks for, and the newest fold states, wherever the user has scrolled.
    @Test func whileOtherRowsAreShownOnlyFoldStatesAreRecorded() throws {
        var (machine, cache) = try Self.live()
        var below = Self.state([Self.row(4)])
        below.window = WindowPosition(total: 3, sectionTotal: 1, start: WindowStart(row: 2, rowInSection: 2))
        try Self.scroll(&machine, &cache, to: 2, try Self.step(to: below, from: Self.unfolded))
        #expect(try Self.loaded(cache).state == Self.unfolded)
        let state = ExpandedState(ObjectID(4), isExpanded: true)
        let frames = try Self.frames(machine.setExpanded(Self.subscriber, [state], RequestToken(2)))
        for change in Self.changes(machine.received(Self.frame(Done(), id: frames[0].id), now: Self.start)) {
            cache.record(change)
        }
        #expect(try Self.loaded(cache).state == Self.unfolded)
        #expect(try Self.loaded(cache).folds?.last == machine.askedFolds(of: Self.subscriber))
        #expect(try Self.loaded(cache).folds?.last.outline.exceptions == [ObjectID(4)])
        // Back at the first row, the rows are recorded as they are now.
        let rows = Self.unfolded.sections[0].rows + [Self.row(5, depth: 1)]
        let back = Self.state(rows)
        try Self.scroll(&machine, &cache, to: 0, try Self.step(to: back, from: below))
        #expect(try Self.loaded(cache).state == back)
        #expect(try Self.loaded(cache).folds?.last.outline.exceptions == [ObjectID(4)])
    }

    @Test func foldStatesThatReplaceAllOthersAreKept() throws {
        var (machine, cache) = try Self.live()
        let edit = OutlineEdit(outline: FetchOutline(.all, exceptions: [ObjectID(3)]))
        let frames = try Self.frames(machine.edit(Self.subscriber, edit, RequestToken(1)))
        let subscribed = Subscribed(view: Self.view, first: .difference, reason: "", projection: Self.projection)
        let actions = machine.received(Self.frame(subscribed, id: frames[0].id), now: Self.start)
        for change in Self.changes(actions) { cache.record(change) }
        let folds = try #require(try Self.loaded(cache).folds)
        #expect(folds.last.outline == FetchOutline(.all, exceptions: [ObjectID(3)]))
        #expect(folds.continues(FetchOutline()) && folds.continues(FetchOutline(.all, exceptions: [ObjectID(3)])))
    }
}

/// The difference of two states that a client computes.
@Suite struct NetDifferenceTests {
    /// A client that applies the difference of (old, new) to old has new. To replay a failure, put its seed in the
    /// range.
    @Test func theDifferenceAppliedToTheOldStateGivesTheNewOne() throws {
        for seed in Seeds.range(0..<500) {
            var random = SeededRandom(seed: seed)
            func state(_ revision: UInt64) -> SectionedSnapshot {
                let ids = (1...9).shuffled(using: &random).prefix(random.below(9))
                var state = Fixtures.state(revision, ids.map { Fixtures.row(Int64($0), "v\(random.below(2))") })
                let start = WindowStart(row: random.below(3), rowInSection: 0)
                state.window = WindowPosition(total: 20, sectionTotal: 1, start: start)
                return state
            }
            var old = state(3)
            let new = state(random.oneIn(2) ? 3 : 7)
            let diff = try #require(ResultsDiff(from: old, to: new, digest: new.digest))
            try old.apply(diff)
            #expect(old == new, "seed \(seed)")
        }
    }

    @Test func statesOfOtherPropertiesOrSectionsHaveNone() {
        let old = Fixtures.state(3, [])
        var other = old
        other.projection = [PropertyNumber(2)]
        #expect(ResultsDiff(from: old, to: other, digest: 0) == nil)
        other = old
        other.sections[0].key = .string("b")
        #expect(ResultsDiff(from: old, to: other, digest: 0) == nil)
        other = old
        other.revision = Revision(2)
        #expect(ResultsDiff(from: old, to: other, digest: 0) == nil)
    }
}
