import NestProtocol
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Results that are read in the background become live without a gap or an overlap, regardless of commits before,
/// during and after the read.
@Suite struct BackgroundReadTests {
    private static func around(_ id: ObjectID) throws -> ObjectFetchRequest {
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        var request = ObjectFetchRequest(entity: item.number)
        request.predicate = try FetchPredicate("title != ''", of: item, in: .nestedList)
        request.sort = try [OrderingTerm]("title", of: item, in: .nestedList)
        request.window = .around(id, before: 1, after: 1)
        return request.canonical(in: .nestedList)
    }

    /// A subscription changes to a window around another object. Before the window is read, the first object is deleted
    /// and the other takes its position. Both requests are the same view now, and the subscription continues.
    @Test func aWindowChangedToItsOwnRequestContinues() throws {
        let fixture = try EngineFixture(backgroundReadRowsMin: 0)
        let writer = try fixture.connect(session: 1)
        let reader = try fixture.connect(session: 2)
        let ids = try fixture.write(writer, ["a", "b", "c", "d"].map { EngineFixture.insert($0) }).insertedIDs
        let request = try Self.around(ids[1])
        try fixture.perform([reader.subscribe(request)])
        let view = try #require(reader.subscriptions[request]?.view)
        fixture.holdsReads = true
        let change = EngineRequest.resubscribe(view: view, try Self.around(ids[2]))
        try fixture.perform([reader.block()])
        let connection = reader.connection
        let effects = fixture.engine.perform([.request(connection, requestID: 1_000, change)], now: fixture.now)
        for case .read(let read) in effects { fixture.reads.append(read) }
        let read = fixture.reads.removeLast()
        try fixture.write(writer, [.delete(.object(ids[1]))])
        let outcome = read.run(fixture.store.reader)
        let answers = fixture.engine.perform([.read(read.id, outcome)], now: fixture.now).compactMap { effect in
            if case .reply(connection, requestID: 1_000, let reply) = effect { reply } else { nil as EngineReply? }
        }
        guard case .subscribed(view, .current, _, _)? = answers.first else {
            Issue.record("\(answers)")
            return
        }
        fixture.holdsReads = false
        try fixture.perform([reader.drain()])
        let rows = reader.subscriptions[request]?.state?.sections.flatMap { $0.rows.map(\.id) }
        #expect(rows == [ids[0], ids[2], ids[3]])
    }

    /// A window is read again for a client that lags too far. Its anchor is deleted before the read, and the window
    /// follows the row at the anchor's position.
    @Test func aLaggingWindowFollowsTheRowAtThePositionOfADeletedAnchor() throws {
        let fixture = try EngineFixture(backgroundReadRowsMin: 0, differenceRowsMin: 0)
        let writer = try fixture.connect(session: 1)
        let reader = try fixture.connect(session: 2)
        let ids = try fixture.write(writer, ["a", "b", "c", "d"].map { EngineFixture.insert($0) }).insertedIDs
        let request = try Self.around(ids[1])
        try fixture.perform([reader.subscribe(request)])
        func shown() -> [ObjectID] {
            reader.subscriptions[request]?.state?.sections.flatMap { $0.rows.map(\.id) } ?? []
        }
        #expect(shown() == Array(ids[0...2]))
        try fixture.perform([reader.block()])
        for number in 0..<40 { try fixture.write(writer, [EngineFixture.edit(ids[0], "a\(number)")]) }
        fixture.holdsReads = true
        try fixture.perform([reader.drain()])
        let read = fixture.reads.removeLast()
        try fixture.write(writer, [.delete(.object(ids[1]))])
        fixture.holdsReads = false
        try fixture.perform([.read(read.id, read.run(fixture.store.reader))])
        #expect(shown() == [ids[0], ids[2], ids[3]])
        try fixture.write(writer, [.delete(.object(ids[3]))])
        #expect(shown() == [ids[0], ids[2]])
    }

    /// Random writes, subscriptions, background reads and their outcomes, in any order.
    private final class World {
        let seed: UInt64
        var random: SeededRandom
        let fixture: EngineFixture
        let writer: SimulatedClient
        let reader: SimulatedClient
        private var ids: [ObjectID] = [EngineFixture.root]
        private var read: [(id: UInt64, outcome: Result<BackgroundRead.Rows, NestError>)] = []
        private var waiting: [ObjectFetchRequest]
        private(set) var asked: [ObjectFetchRequest] = []

        init(seed: UInt64) throws {
            self.seed = seed
            self.random = SeededRandom(seed: seed)
            self.fixture = try EngineFixture(backgroundReadRowsMin: 0)
            self.fixture.holdsReads = true
            self.writer = try self.fixture.connect(session: 1)
            self.reader = try self.fixture.connect(session: 2)
            self.waiting = try Self.requests()
        }

        private static func requests() throws -> [ObjectFetchRequest] {
            let model = ManagedObjectModel.nestedList
            let item = try #require(model.entity(EngineFixture.item))
            func request(
                _ predicate: String = "",
                sort: String = "title",
                section: String? = nil,
                column: String? = nil,
                window: FetchWindow? = nil
            ) throws -> ObjectFetchRequest {
                var request = ObjectFetchRequest(entity: item.number)
                request.predicate = try FetchPredicate(predicate, of: item, in: model)
                request.sort = try [OrderingTerm](sort, of: item, in: model)
                request.section = try section.map { try SectionKey($0, of: item, in: model) }
                request.columns = try column.map { [try PropertyPath($0, of: item, in: model)] } ?? []
                request.window = window
                return request.canonical(in: model)
            }
            return [
                SimulatedClient.children(of: EngineFixture.root).canonical(in: model),
                try request(sort: "title:c", section: "firstCharacter(title)"),
                try request("title CONTAINS 'a'", sort: "-title"), try request("parent == 1", sort: "order"),
                try request("ANY children.title BEGINSWITH 'a'", column: "children.@count"),
                try request(sort: "parent.title,title", column: "parent.title"),
                try request("SELF IN SUBTREE(1)"),
            ]
        }

        private func word() -> String {
            ["", "a", "B", "ab", "é", "Ba"][self.random.below(6)] + "\(self.random.below(4))"
        }

        private func write() throws {
            let id = self.ids[self.random.below(self.ids.count)]
            let mutation: Mutation
            switch self.random.below(5) {
            case 0, 1: mutation = EngineFixture.insert(self.word(), under: id, self.random.oneIn(2) ? .first : .last)
            case 2: mutation = EngineFixture.edit(id, self.word())
            case 3:
                let other = self.ids[self.random.below(self.ids.count)]
                mutation = EngineFixture.move(id, under: other, .first)
            default: mutation = .delete(.object(id))
            }
            let (number, input) = self.writer.request(.transaction(WriteTransaction(mutations: [mutation])))
            try self.fixture.perform([input])
            self.ids += self.writer.replies[number]?.receipt?.insertedIDs ?? []
        }

        func step() throws {
            switch self.random.below(6) {
            case 0 where !self.waiting.isEmpty:
                let request = self.waiting.removeFirst()
                self.asked.append(request)
                try self.fixture.perform([self.reader.subscribe(request)])
            case 1 where !self.fixture.reads.isEmpty: self.run()
            case 2 where !self.read.isEmpty: try self.arrive()
            default: try self.write()
            }
        }

        /// Performs a read, as a reader thread does.
        private func run() {
            let read = self.fixture.reads.remove(at: self.random.below(self.fixture.reads.count))
            self.read.append((read.id, read.run(self.fixture.store.reader)))
        }

        private func arrive() throws {
            let arrived = self.read.remove(at: self.random.below(self.read.count))
            try self.fixture.perform([.read(arrived.id, arrived.outcome)])
        }

        func finish() throws {
            while !self.fixture.reads.isEmpty || !self.read.isEmpty {
                while !self.fixture.reads.isEmpty { self.run() }
                while !self.read.isEmpty { try self.arrive() }
            }
            self.fixture.holdsReads = false
            for request in self.asked {
                let state = try #require(self.reader.subscriptions[request]?.state, "seed \(self.seed): no state")
                guard
                    case .snapshot(let header, let bodies, _) = try self.fixture.ask(
                        self.writer,
                        .fetch(request, atLeast: Revision(0))
                    )
                else {
                    Issue.record("seed \(self.seed): no answer to a fetch")
                    continue
                }
                let rows = try bodies.flatMap { body in
                    try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                        try reader.rows(valueCount: request.projection.count)
                    }
                }
                #expect(state.sections.flatMap(\.rows) == rows, "seed \(self.seed): \(request)")
                #expect(state.digest == header.digest, "seed \(self.seed): \(request)")
            }
        }
    }

    @Test func backgroundReadsBecomeLiveWithoutAGap() throws {
        for seed in 0..<60 as Range<UInt64> {
            let world = try World(seed: seed)
            for _ in 0..<90 { try world.step() }
            try world.finish()
            #expect(world.asked.count > 2, "seed \(seed)")
        }
    }

    /// A resumed subscription receives the difference, also if its result is read in the background.
    @Test func aResumedSubscriptionReceivesTheDifference() throws {
        let fixture = try EngineFixture(backgroundReadRowsMin: 0)
        let client = try fixture.connect(session: 1)
        try fixture.write(client, (0..<5).map { EngineFixture.insert("\($0)") })
        try fixture.perform([client.subscribe(EngineFixture.root)])
        #expect(client.state(EngineFixture.root)?.total == 5)
        try fixture.restart()
        let other = try fixture.connect(session: 2)
        try fixture.write(other, [EngineFixture.insert("new", under: EngineFixture.root, .first)])
        try fixture.perform([client.connect(as: fixture.newConnection())] + client.resumeAll())
        #expect(client.state(EngineFixture.root)?.sections[0].rows.first?.values.first == .string("new"))
        #expect(client.diffs == 1)
    }
}
