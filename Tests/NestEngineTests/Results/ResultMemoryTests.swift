import NestEngine
import NestModel
import NestStore
import Testing
import NestProtocol

/// All live results together have a memory limit. Above it no new result is made, and the existing ones continue.
@Suite struct ResultMemoryTests {
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

    /// A connection that sends requests and ignores pushes.
    private final class Requester {
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

        /// Returns the view, or throws the error of the answer.
        func subscribe(_ number: Int) throws -> UInt32 {
            switch self.ask(.subscribe(ResultMemoryTests.request(number), resume: nil, atLeast: Revision(0))) {
            case .subscribed(let view, _, _, _): return view
            case let reply: throw try #require(reply?.error)
            }
        }
    }

    /// `inBackground`: whether background reads make the results live.
    @Test(arguments: [false, true]) func liveResultMemoryIsLimited(inBackground: Bool) throws {
        let fixture = try EngineFixture(
            backgroundReadRowsMin: inBackground ? 0 : Limits.backgroundReadRowsMin,
            liveResultBytesMax: 20_000
        )
        let writer = try fixture.connect(session: 1)
        try fixture.write(writer, (0..<100).map { EngineFixture.insert("title \($0)") })
        let first = Requester(fixture, number: 2)
        var views: [UInt32] = []
        #expect {
            while views.count < 100 { views.append(try first.subscribe(views.count)) }
        } throws: {
            ($0 as? NestError)?.code == .busy
        }
        #expect(views.count > 1 && views.count < 20)
        // An existing result can be shared, because that needs no more memory.
        let other = Requester(fixture, number: 3)
        #expect(try other.subscribe(0) == views[0])
        // Results without subscribers are dropped at once.
        for view in views.dropFirst() { _ = first.ask(.unsubscribe(view: view)) }
        _ = fixture.engine.perform([.tick], now: fixture.now)
        _ = try other.subscribe(99)
        // The connection that was refused can subscribe again.
        _ = try first.subscribe(98)
    }

    /// The limit holds after each tick. A subscriber that lags behind what the row log keeps is still brought up to
    /// date: from the journal, or by a snapshot.
    @Test func rowLogMemoryIsLimited() throws {
        let bytesMax = 4_000
        let fixture = try EngineFixture(rowLogBytesMax: bytesMax)
        let writer = try fixture.connect(session: 1)
        let reader = try fixture.connect(session: 2)
        let ids = try fixture.write(writer, (0..<20).map { EngineFixture.insert("title \($0)") }).insertedIDs
        try fixture.perform([reader.subscribe(EngineFixture.root, [EngineFixture.title])])
        try fixture.perform([reader.block()])
        var trims = 0
        for round in 0..<100 {
            try fixture.write(writer, [EngineFixture.edit(ids[round % 20], "round \(round)")])
            let bytes = try self.rowLogBytes(fixture, writer)
            try fixture.perform([.tick])
            let kept = try self.rowLogBytes(fixture, writer)
            #expect(kept > 0 && kept <= bytesMax)
            if kept < bytes { trims += 1 }
        }
        #expect(trims > 1)
        try fixture.perform([reader.drain()])
        while reader.awaitsDrain { try fixture.perform([reader.drain()]) }
        let fetch = SimulatedClient.children(of: EngineFixture.root, [EngineFixture.title])
        let state = try #require(reader.subscriptions[fetch]?.state)
        #expect(state.sections.flatMap(\.rows).map { $0.values[0].stringValue } == (80..<100).map { "round \($0)" })
    }

    private func rowLogBytes(_ fixture: EngineFixture, _ client: SimulatedClient) throws -> Int {
        guard case .statistics(let values) = try fixture.ask(client, .statistics) else { return -1 }
        return Int(try #require(values.first { $0.name == "row_log_bytes" }).value)
    }
}
