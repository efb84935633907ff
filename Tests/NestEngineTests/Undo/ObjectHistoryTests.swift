import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// The transactions that changed one object.
@Suite struct ObjectHistoryTests {
    private let fixture: EngineFixture
    private let clients: [SimulatedClient]

    init() throws {
        self.fixture = try EngineFixture()
        self.clients = try (1...2).map { [fixture] in try fixture.connect(session: $0) }
    }

    private func page(
        _ client: SimulatedClient,
        _ object: ObjectID,
        before: Revision = Revision(0),
        limit: Int = 1_000,
        onlyMine: Bool = false
    ) throws -> [Revision] {
        let request = EngineRequest.history(before: before, limit: limit, onlyMine: onlyMine, object: object)
        let (id, input) = client.request(request)
        try self.fixture.perform([input])
        // After many answers the client is asked whether it has read them.
        if client.replies[id] == nil { try self.fixture.perform([.drained(client.connection)]) }
        let reply = try #require(client.replies[id])
        if let error = reply.error { throw error }
        return try #require(reply.entries).map(\.revision)
    }

    /// Returns the history of an object in pages.
    private func all(_ client: SimulatedClient, _ object: ObjectID, limit: Int) throws -> [Revision] {
        var revisions: [Revision] = []
        while true {
            let page = try self.page(client, object, before: revisions.last ?? Revision(0), limit: limit)
            guard !page.isEmpty else { return revisions }
            #expect(page.count <= limit)
            revisions += page
        }
    }

    /// The obvious way: reads the whole journal. Returns the transactions that changed the object since it was inserted
    /// last, newest first, and which session wrote each. `before`: only older ones; if this transaction changed the
    /// object, those since the insertion that it follows.
    private func expected(
        _ object: ObjectID,
        before: Revision? = nil
    ) throws -> [(revision: Revision, session: UInt64)] {
        let store = self.fixture.store
        return try store.access {
            var found: [(revision: Revision, session: UInt64)] = []
            var next = store.oldestBase
            while next < store.head {
                next = Revision(next.rawValue + 1)
                guard let past = try store.pastTransaction(next) else { continue }
                var kinds: [ObjectChange.Kind] = []
                try past.forEach { if $0.id == object { kinds.append($0.kind) } }
                if kinds.contains(.insert) { found = [] }
                if next == before, !kinds.isEmpty { return found.reversed() }
                if !kinds.isEmpty { found.append((next, past.header.sessionNumber)) }
            }
            return found.filter { before == nil || $0.revision < before! }.reversed()
        }
    }

    /// Inserts, edits, moves, deletes and undoes at random, in batches, with restarts.
    @Test func theHistoryOfAnObjectIsThatOfTheWholeJournal() throws {
        for seed in 0..<8 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            for round in 0..<10 {
                for _ in 0..<4 {
                    let inputs = try (0..<1 + random.below(6)).map { _ in try self.input(&random) }
                    try self.fixture.perform(inputs)
                }
                if random.oneIn(5) { try self.restart() }
                let alive = try self.fixture.children()
                for object in alive.prefix(8) {
                    let expected = try self.expected(object)
                    let what = "seed \(seed), round \(round), object \(object)"
                    #expect(
                        try self.all(self.clients[0], object, limit: 1 + random.below(5)) == expected.map(\.revision),
                        "\(what)"
                    )
                    let client = self.clients[random.below(2)]
                    let whole = try #require(
                        try self.fixture.ask(client, .history(before: Revision(0), limit: 1_000, onlyMine: true))
                            .entries
                    )
                    let mine = expected.map(\.revision).filter(Set(whole.map(\.revision)).contains)
                    #expect(try self.page(client, object, onlyMine: true) == mine, "\(what)")
                    // A revision that did not change the object is a place in its history as well.
                    let before = Revision(UInt64(1 + random.below(Int(self.fixture.store.head.rawValue) + 2)))
                    let older = try self.expected(object, before: before).map(\.revision)
                    #expect(try self.page(client, object, before: before) == older, "\(what), before \(before)")
                }
            }
        }
    }

    private func input(_ random: inout SeededRandom) throws -> EngineInput {
        let client = self.clients[random.below(2)]
        let alive = try self.fixture.children()
        guard let object = alive.isEmpty ? nil : alive[random.below(min(alive.count, 6))] else {
            return self.write(client, [EngineFixture.insert("new")])
        }
        return switch random.below(8) {
        case 0: self.write(client, [EngineFixture.insert("new"), EngineFixture.edit(object, "with a new one")])
        case 1, 2, 3: self.write(client, [EngineFixture.edit(object, "\(random.below(1_000))")])
        case 4, 5: self.write(client, [EngineFixture.move(object, .first)])
        case 6: self.write(client, [.delete(.object(object))])
        default: client.request(.undo(key: nil)).input
        }
    }

    private func write(_ client: SimulatedClient, _ mutations: [Mutation]) -> EngineInput {
        client.request(.transaction(WriteTransaction(mutations: mutations))).input
    }

    private func restart() throws {
        try self.fixture.restart()
        for client in self.clients { try self.fixture.perform([client.connect(as: self.fixture.newConnection())]) }
    }

    @Test func aPageOfAnObjectEndsAfterManyParts() throws {
        let object = try #require(try self.fixture.write(self.clients[0], [EngineFixture.insert("a")]).firstInserted)
        let count = Limits.objectHistoryPartsMax + 3
        for number in 0..<count { try self.fixture.write(self.clients[0], [EngineFixture.edit(object, "\(number)")]) }
        let page = try self.page(self.clients[0], object)
        #expect(page.count == Limits.objectHistoryPartsMax)
        let all = try self.all(self.clients[0], object, limit: 1_000)
        #expect(all.map(\.rawValue) == (1...UInt64(count + 1)).reversed())
    }

    @Test func anObjectThatDoesNotExistHasNoHistory() throws {
        let object = try #require(try self.fixture.write(self.clients[0], [EngineFixture.insert("a")]).firstInserted)
        try self.fixture.write(self.clients[0], [.delete(.object(object))])
        for id in [object, ObjectID(1_000)] {
            #expect { try self.page(self.clients[0], id) } throws: { ($0 as? NestError)?.code == .notFound }
        }
        // The undo inserts it again, and its history begins there.
        _ = try self.fixture.ask(self.clients[0], .undo(key: nil))
        #expect(try self.page(self.clients[0], object) == [Revision(3)])
    }
}
