import NIOConcurrencyHelpers
import NIOCore
import NestFraming
import NestModel
import NestProtocol
import Testing

@testable import NestClient

/// A cache in memory that clients share.
final class SharedCache: ResultsCache {
    private let kept = NIOLockedValueBox((memory: MemoryCache(), model: CachedModel?.none))

    init(_ views: [CachedView] = []) { self.record(views.map { .replace($0) }) }

    var views: [[UInt8]: CachedView] { self.kept.withLockedValue { $0.memory.views } }

    func model() async -> CachedModel? { self.kept.withLockedValue { $0.model } }
    func view(_ request: [UInt8]) async -> CachedView? { self.views[request] }
    func flush() async {}

    func record(_ changes: [CacheChange]) {
        self.kept.withLockedValue { kept in
            for change in changes {
                if case .model(let model) = change { kept.model = model }
                kept.memory.record(change)
            }
        }
    }

    /// The view of a client without a token.
    static func view(
        _ state: SectionedSnapshot,
        of request: ObjectFetchRequest = Fixtures.request,
        history: UInt64 = 1,
        modelHash: UInt64 = ManagedObjectModel.nestedList.hash
    ) -> CachedView {
        let frames = CachedView.frames(of: state, digest: state.digest)
        return CachedView(
            request: request.cacheKey,
            identity: ClientStateMachine.cacheIdentity(token: nil, store: nil),
            modelHash: modelHash,
            historyID: Identifier128(high: 0, low: history),
            revision: state.revision,
            digest: state.digest,
            recording: 1,
            sequence: frames.count,
            frames: frames
        )
    }
}

/// Subscriptions that begin with a cached state, step by step.
@Suite struct CachedSubscriptionTests: ClientSteps {
    private static let state = Fixtures.state(5, [Fixtures.row(2, "a")])

    /// A client that shows a cached state and begins to connect.
    private static func machine(
        _ state: SectionedSnapshot = Self.state,
        of request: ObjectFetchRequest = Fixtures.request
    ) throws -> ClientStateMachine {
        var machine = ClientStateMachine(
            hello: Hello(clientName: "t", session: Identifier128(high: 1, low: 2)),
            seed: 1,
            usesCache: true
        )
        let view = SharedCache.view(state, of: request, history: 7, modelHash: 0)
        _ = machine.subscribe(SubscriberID(1), to: request, cached: try view.load(as: request))
        return machine
    }

    private static func resumes(_ actions: [ClientAction]) throws -> [ResumePoint?] {
        try Self.frames(actions).filter { $0.type == Subscribe.type.rawValue }.map {
            try Subscribe(body: $0.body).resume
        }
    }

    /// A state whose request has changed since is not recorded any more, but it is still of its history.
    @Test(arguments: [7, 8] as [UInt64]) func aStateWithoutARecordingIsOfItsHistory(_ history: UInt64) throws {
        var machine = try Self.machine()
        for id in machine.subscriptions.keys { machine.subscriptions[id]?.become(Fixtures.requestTwice) }
        let actions = Self.welcome(&machine, nil, history: history, revision: 3)
        let resets = actions.filter { action in
            if case .deliver(.reset(let reset), _, _) = action { reset.cause == .cache } else { false }
        }
        #expect(resets.count == (history == 7 ? 0 : 1))
        let expected =
            history == 7 ? ResumePoint(historyID: Identifier128(high: 0, low: 7), revision: Revision(5)) : nil
        #expect(try Self.resumes(actions) == [expected])
        #expect(machine.seen?.revision == Revision(history == 7 ? 5 : 3))
    }

    private static func appends(_ actions: [ClientAction]) -> [CacheAppend] {
        actions.compactMap { action in
            if case .cache(.append(let append)) = action { append } else { nil }
        }
    }

    /// "current" confirms the rows; the totals may be older until RESULT_TOTALS comes.
    @Test(arguments: [false, true]) func totalsAreRecordedWithTheirRevision(_ totalsArrive: Bool) throws {
        var request = Fixtures.request
        request.totals = [.count]
        var state = Self.state
        state.totals = [.integer(1)]
        var machine = try Self.machine(state, of: request)
        let actions = Self.welcome(&machine, nil, history: 7, revision: 9)
        let subscribe = try #require(try Self.frames(actions).first { $0.type == Subscribe.type.rawValue })
        let view = Limits.viewIDMin
        let current = Fixtures.subscribed(view, .current(Revision(9)))
        let answer = try machine.received(Self.frame(current, id: subscribe.id), now: Self.start)
        #expect(Self.appends(answer).isEmpty)
        if totalsArrive {
            let totals = TotalsUpdate(revision: Revision(9), values: [.integer(2)])
            let message = Self.frame(ResultTotalsMessage(totals, isBeforeRows: false), id: view)
            #expect(Self.appends(try machine.received(message, now: Self.start)).map(\.revision) == [Revision(9)])
        }
        #expect(Self.appends(machine.unsubscribe(SubscriberID(1))).isEmpty)
    }
}

extension SocketTests {
    struct CachedClientTests {
        /// What one token may see is not shown to a client with another.
        @Test func aStateIsNotShownUnderAnotherToken() async throws {
            let cache = SharedCache()
            let state = Fixtures.state(5, [Fixtures.row(2, "a")])
            try await FakeServer.run { server in
                try await server.welcome(revision: 5)
                let (id, _) = try await server.expect(Subscribe.self)
                try await server.send(Fixtures.subscribed(Limits.viewIDMin, .snapshot), id: id)
                try await server.sendSnapshot(state, id: Limits.viewIDMin)
                await server.untilClosed()
            } client: { port in
                var configuration = Fixtures.configuration(port)
                configuration.cache = cache
                let secret = TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: 4))
                configuration.token = AccessToken(number: 1, secret: secret)
                try await NestClient.withClient(configuration) { client in
                    try await client.withFetchedResults(Fixtures.request) { results in
                        var changes = results.makeAsyncIterator()
                        let first = try await changes.next()
                        #expect(first == .snapshot(.first))
                    }
                }
                let key = Fixtures.request.cacheKey
                let view = try #require(cache.views[key])
                let model = CachedModel(
                    identity: view.identity,
                    hash: view.modelHash,
                    bytes: ModelMessage(.nestedList).body
                )
                var others = [configuration, configuration, configuration]
                others[0].token = nil
                others[1].store = "default"
                others[2].token = AccessToken(number: 1, secret: TokenSecret(high: secret.low, low: secret.high))
                for other in others {
                    cache.record([.replace(view), .model(model)])
                    let client = NestClient(other)
                    #expect(await client.core.cached(Fixtures.request) == nil)
                    #expect(await client.core.cachedModel() == nil)
                    #expect(cache.views[key] == nil)
                    await client.close()
                }
                cache.record([.replace(view)])
                let client = NestClient(configuration)
                #expect(await client.core.cached(Fixtures.request)?.state == state)
                #expect(await client.core.cachedModel()?.model == .nestedList)
                await client.close()
            }
        }

        /// A caller that does not wait for the end of a pause does not begin a second series of attempts.
        @Test func connectingWithoutAServerDoesNotMultiplyTheAttempts() async throws {
            let attempts = NIOLockedValueBox(0)
            try await FakeServer.run { _ in
                attempts.withLockedValue { $0 += 1 }
            } client: { port in
                var configuration = Fixtures.configuration(port)
                configuration.cache = SharedCache([SharedCache.view(Fixtures.state(5, [Fixtures.row(2, "a")]))])
                configuration.reconnectPauseMax = .milliseconds(200)
                let client = NestClient(configuration)
                try await client.withFetchedResults(Fixtures.request) { results in
                    var changes = results.makeAsyncIterator()
                    let first = try await changes.next()
                    #expect(first == .snapshot(.first))
                    for _ in 0..<40 { await #expect(throws: NestError.self) { try await client.connect() } }
                    try await Task.sleep(for: .milliseconds(500))
                    let before = attempts.withLockedValue { $0 }
                    try await Task.sleep(for: .seconds(2))
                    let count = attempts.withLockedValue { $0 } - before
                    #expect((1...60).contains(count), "\(count) attempts")
                }
                await client.close()
            }
        }

        /// A lost connection does not make a cached state live; the difference does.
        @MainActor @Test func aCachedStateIsLiveWhenTheDifferenceHasCome() async throws {
            try await FakeServer.run { server in
                guard server.number > 0 else { return }
                try await server.welcome(revision: 6)
                let (id, subscribe) = try await server.expect(Subscribe.self)
                #expect(subscribe.resume?.revision == Revision(5))
                try await server.send(Fixtures.subscribed(Limits.viewIDMin, .difference), id: id)
                var state = Fixtures.state(5, [Fixtures.row(2, "a")])
                let diff = Fixtures.append(Fixtures.row(3, "b"), to: &state, at: 6, from: 5)
                try await server.send(diff, view: Limits.viewIDMin)
                await server.untilClosed()
            } client: { port in
                try await Self.follow(port)
            }
        }

        @MainActor private static func follow(_ port: Int) async throws {
            var configuration = Fixtures.configuration(port)
            configuration.cache = SharedCache([SharedCache.view(Fixtures.state(5, [Fixtures.row(2, "a")]))])
            configuration.reconnectPauseMax = .milliseconds(200)
            let client = NestClient(configuration)
            let controller = FetchedResultsController(fetchRequest: Fixtures.request, client: client)
            let screen = TableScreen()
            try await screen.run(controller) {
                try await screen.wait { controller.state == .live }
                #expect(screen.takeLog().filter { $0 == "cached" || $0 == "live" } == ["cached", "cached", "live"])
                #expect(controller.fetchedObjects?.count == 2)
            }
            await client.close()
        }
    }
}
