import NestEngine
import NestModel
import NestStore
import Testing
import NestProtocol

/// Live results of all subscriptions have one bound: above it no new one is made, and those that are there go on.
@Suite struct ResultRoomTests {
    private static func request(_ number: Int) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EngineFixture.item,
            projection: [EngineFixture.title],
            predicate: FetchPredicate(
                Comparison(
                    path: PropertyPath(leaf: .attribute(EngineFixture.title)),
                    operator: .notEqual,
                    values: [.string("\(number)")]
                )
            )
        )
    }

    /// A connection that asks, and takes nothing of what is pushed.
    private final class Asker {
        private let fixture: EngineFixture
        private let connection: ConnectionID
        private var lastRequest: UInt32 = 0

        init(_ fixture: EngineFixture, number: UInt64) {
            self.fixture = fixture
            self.connection = fixture.newConnection()
            let session = Identifier128(high: 9, low: number)
            _ = fixture.engine.perform(
                [.connected(self.connection, session: session, scope: .everything)],
                now: fixture.now
            )
        }

        func ask(_ request: EngineRequest) -> EngineReply? {
            self.lastRequest += 1
            let id = self.lastRequest
            var effects = self.fixture.engine.perform(
                [.request(self.connection, requestID: id, request)],
                now: self.fixture.now
            )
            while !effects.isEmpty {
                for case .reply(self.connection, requestID: id, let reply) in effects { return reply }
                let inputs = effects.compactMap { effect -> EngineInput? in
                    guard case .read(let read) = effect else { return nil }
                    return .read(read.id, read.run(self.fixture.store.reader))
                }
                effects = self.fixture.engine.perform(inputs, now: self.fixture.now)
            }
            return nil
        }

        /// The view, or why there is none.
        func subscribe(_ number: Int) throws -> UInt32 {
            switch self.ask(.subscribe(ResultRoomTests.request(number), resume: nil, atLeast: Revision(0))) {
            case .subscribed(let view, _, _, _): return view
            case let reply: throw try #require(reply?.error)
            }
        }
    }

    /// `inBackground`: background reads make them live.
    @Test(arguments: [false, true]) func liveResultsStayWithinTheirMemory(inBackground: Bool) throws {
        let fixture = try EngineFixture(
            asideRowsMin: inBackground ? 0 : Limits.asideRowsMin,
            liveResultBytesMax: 20_000
        )
        let writer = try fixture.connect(session: 1)
        try fixture.write(writer, (0..<100).map { EngineFixture.insert("title \($0)") })
        let first = Asker(fixture, number: 2)
        var views: [UInt32] = []
        #expect {
            while views.count < 100 { views.append(try first.subscribe(views.count)) }
        } throws: {
            ($0 as? NestError)?.code == .busy
        }
        #expect(views.count > 1 && views.count < 20)
        // What is there goes on, and is shared: it takes nothing more.
        let other = Asker(fixture, number: 3)
        #expect(try other.subscribe(0) == views[0])
        // What nobody follows makes room, at once.
        for view in views.dropFirst() { _ = first.ask(.unsubscribe(view: view)) }
        _ = fixture.engine.perform([.tick], now: fixture.now)
        _ = try other.subscribe(99)
        // Who was refused is answered again.
        _ = try first.subscribe(98)
    }
}
