import NestEngine
import NestModel
import Testing

/// Many simultaneous requests for results are answered in turns. `ResultsSimulationTests` tests this with random
/// requests.
@Suite struct AdmissionTests {
    private let fixture: EngineFixture
    private let writer: SimulatedClient

    /// A list of three items, and a limit of work that allows two small requests in a batch.
    init() throws {
        self.fixture = try EngineFixture(admissionWorkMax: 12)
        self.writer = try self.fixture.connect(session: 1)
        try self.fixture.write(self.writer, (0..<3).map { EngineFixture.insert("\($0)") })
        // The result is live, so that no later subscription must load it.
        try self.fixture.perform([self.writer.subscribe(EngineFixture.root)])
    }

    private func clients(_ count: UInt64) throws -> [SimulatedClient] {
        try (0..<count).map { try self.fixture.connect(session: 10 + $0) }
    }

    private func children(_ client: SimulatedClient) -> [ObjectID] {
        client.state(EngineFixture.root)?.sections.flatMap { $0.rows.map(\.id) } ?? []
    }

    private func finish() throws {
        while self.fixture.engine.hasBacklog { try self.fixture.perform([]) }
    }

    @Test func commitsContinueDuringAStormOfSubscriptions() throws {
        let clients = try self.clients(12)
        var inputs = clients.map { $0.subscribe(EngineFixture.root) }
        var turns = 0
        repeat {
            let (id, write) = self.writer.request(
                .transaction(WriteTransaction(mutations: [EngineFixture.insert("turn \(turns)")]))
            )
            let answered = clients.count { $0.state(EngineFixture.root) != nil }
            try self.fixture.perform(inputs + [write])
            inputs = []
            turns += 1
            // The write is answered in its own batch. One or two clients are admitted in each turn.
            #expect(self.writer.replies[id]?.receipt != nil)
            let more = clients.count { $0.state(EngineFixture.root) != nil } - answered
            #expect((1...2).contains(more), "\(more) in turn \(turns)")
        } while self.fixture.engine.hasBacklog
        #expect(turns >= 6)
        for client in clients { #expect(try self.children(client) == self.fixture.children()) }
    }

    @Test func everyConnectionGetsATurn() throws {
        let clients = try self.clients(2)
        let many = (0..<6).map { _ in
            clients[0].request(.fetch(SimulatedClient.children(of: EngineFixture.root), atLeast: Revision(0)))
        }
        let one = clients[1].subscribe(EngineFixture.root)
        try self.fixture.perform(many.map(\.input) + [one])
        while clients[1].state(EngineFixture.root) == nil { try self.fixture.perform([]) }
        #expect(many.contains { clients[0].replies[$0.id] == nil })
        // The requests of one connection are answered in order.
        while self.fixture.engine.hasBacklog {
            let answered = many.map { clients[0].replies[$0.id] != nil }
            #expect(answered == answered.sorted { $0 && !$1 })
            try self.fixture.perform([])
        }
        #expect(many.allSatisfy { clients[0].replies[$0.id] != nil })
    }

    @Test func waitingRequestsEndWithTheirConnection() throws {
        let clients = try self.clients(6)
        try self.fixture.perform(clients.map { $0.subscribe(EngineFixture.root) })
        try self.fixture.perform(clients.suffix(3).map { .disconnected($0.connection) })
        let gone = clients.suffix(3).filter { $0.state(EngineFixture.root) == nil }
        #expect(!gone.isEmpty)
        try self.finish()
        #expect(clients.prefix(3).allSatisfy { self.children($0).count == 3 })
        for client in gone {
            #expect(client.state(EngineFixture.root) == nil)
            let back = client.connect(as: self.fixture.newConnection())
            try self.fixture.perform([back] + client.resumeAll())
        }
        try self.finish()
        #expect(gone.allSatisfy { self.children($0).count == 3 })
    }

    /// A waiting RESUBSCRIBE replaces its subscription, so that a later UNSUBSCRIBE of the old view finds nothing.
    @Test func resubscribeAndUnsubscribeKeepTheirOrder() throws {
        let client = try self.clients(1)[0]
        let request = SimulatedClient.children(of: EngineFixture.root)
        try self.fixture.perform([client.subscribe(request)])
        let view = try #require(client.subscriptions[request]?.view)
        var part = request
        part.window = .range(offset: 1, limit: 1)
        // Enough requests that the change must wait.
        let fetches = (0..<3).map { _ in client.request(.fetch(request, atLeast: Revision(0))).input }
        let change = try #require(client.change(request, to: part))
        let end = client.request(.unsubscribe(view: view))
        try self.fixture.perform(fetches + [change, end.input])
        #expect(client.subscriptions[request]?.view == view && client.replies[end.id] == nil)
        try self.fixture.write(self.writer, [EngineFixture.insert("first", under: EngineFixture.root, .first)])
        try self.finish()
        #expect(client.replies[end.id]?.error?.code == .notFound)
        #expect(client.subscriptions[part]?.state?.total == 1 && client.subscriptions[part]?.state?.window?.total == 4)
    }

    @Test func aSubscriptionMayEndWhileRequestsWait() throws {
        let client = try self.clients(1)[0]
        let request = SimulatedClient.children(of: EngineFixture.root)
        try self.fixture.perform([client.subscribe(request)])
        let fetches = (0..<4).map { _ in client.request(.fetch(request, atLeast: Revision(0))).input }
        try self.fixture.perform(fetches + client.unsubscribe())
        try self.fixture.write(self.writer, [EngineFixture.insert("while it waits")])
        try self.finish()
        let effects = try self.fixture.perform([
            self.writer.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("after")]))).input
        ])
        for case .push(_, let to) in effects { #expect(!to.contains(client.connection)) }
    }

    /// The revisions since the restart are read once, not once for each list.
    @Test func clientsOfManyListsResumeInFewTurns() throws {
        let fixture = try EngineFixture(admissionWorkMax: 100)
        let writer = try fixture.connect(session: 1)
        let lists = try fixture.write(writer, (0..<20).map { EngineFixture.insert("list \($0)") }).insertedIDs
        let clients = try lists.indices.map { try fixture.connect(session: 10 + UInt64($0)) }
        for (client, list) in zip(clients, lists) { try fixture.perform([client.subscribe(list)]) }
        try fixture.restart()
        try fixture.perform([writer.connect(as: fixture.newConnection())])
        for list in lists { try fixture.write(writer, [EngineFixture.insert("new", under: list)]) }
        // Moves an item to another list and back.
        let moved = try fixture.children(lists[3])[0]
        try fixture.write(writer, [EngineFixture.move(moved, under: lists[4], .first)])
        try fixture.write(writer, [EngineFixture.move(moved, under: lists[3], .first)])
        let gone = try fixture.children(lists[5])[0]
        try fixture.write(writer, [EngineFixture.move(gone, under: lists[6], .first)])
        try fixture.perform(clients.flatMap { [$0.connect(as: fixture.newConnection())] + $0.resumeAll() })
        var turns = 1
        while fixture.engine.hasBacklog {
            turns += 1
            try fixture.write(writer, [EngineFixture.insert("turn \(turns)", under: lists[19])])
        }
        #expect((2...7).contains(turns), "\(turns)")
        for (client, list) in zip(clients, lists) {
            let shown = client.state(list)?.sections.flatMap { $0.rows.map(\.id) }
            #expect(try shown == fixture.children(list))
            // A row that left the list and came back gives no diff.
            #expect(client.diffs > 0 || list == lists[5])
        }
    }

    @Test func allClientsResumeAfterARestart() throws {
        let clients = try self.clients(8)
        try self.fixture.perform(clients.map { $0.subscribe(EngineFixture.root) })
        try self.finish()
        try self.fixture.write(self.writer, [EngineFixture.insert("before the crash")])
        try self.fixture.restart()
        try self.fixture.perform([self.writer.connect(as: self.fixture.newConnection())])
        try self.fixture.write(self.writer, [EngineFixture.insert("before they return")])
        let returns = clients.flatMap { [$0.connect(as: self.fixture.newConnection())] + $0.resumeAll() }
        try self.fixture.perform(returns)
        #expect(self.fixture.engine.hasBacklog)
        while self.fixture.engine.hasBacklog {
            try self.fixture.write(self.writer, [EngineFixture.insert("meanwhile", under: EngineFixture.root, .first)])
        }
        for client in clients {
            #expect(try self.children(client) == self.fixture.children())
            #expect(client.refusal == nil && client.diffs > 1)
        }
    }
}
