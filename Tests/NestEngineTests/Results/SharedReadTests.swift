import NestEngine
import NestModel
import NestStore
import Testing
import NestProtocol

/// Several requests that share one background read.
@Suite struct SharedReadTests {
    private let fixture: EngineFixture
    private let writer: SimulatedClient
    private let ids: [ObjectID]

    /// All results are read in the background, when the test runs the reads.
    init() throws { try self.init(admissionWorkMax: Limits.admissionWorkMax) }

    private init(admissionWorkMax: Int) throws {
        self.fixture = try EngineFixture(backgroundReadRowsMin: 0, admissionWorkMax: admissionWorkMax)
        self.fixture.holdsReads = true
        self.writer = try self.fixture.connect(session: 1)
        self.ids = try self.fixture.write(self.writer, (0..<4).map { EngineFixture.insert("\($0)") }).insertedIDs
    }

    /// Runs the requested reads and delivers their outcomes.
    private func read() throws {
        let reads = self.fixture.reads
        self.fixture.reads = []
        for read in reads { try self.fixture.perform([.read(read.id, read.run(self.fixture.store.reader))]) }
    }

    private func around(_ id: ObjectID) -> ObjectFetchRequest {
        var request = SimulatedClient.children(of: EngineFixture.root)
        request.window = .around(id, before: 0, after: 1)
        return request
    }

    private func shown(_ client: SimulatedClient, _ request: ObjectFetchRequest) -> [ObjectID]? {
        client.subscriptions[request]?.state?.sections.flatMap { $0.rows.map(\.id) }
    }

    @Test func waitingSubscriptionsAreAnsweredInTurns() throws {
        let test = try SharedReadTests(admissionWorkMax: 12)
        let clients = try (0..<7).map { try test.fixture.connect(session: 10 + $0) }
        for client in clients { try test.fixture.perform([client.subscribe(EngineFixture.root)]) }
        #expect(test.fixture.reads.count == 1)
        try test.read()
        var turns = 0
        while test.fixture.engine.hasBacklog {
            turns += 1
            // Clients that have been answered get a diff at once. The others get a later snapshot.
            try test.fixture.write(test.writer, [EngineFixture.insert("turn \(turns)")])
        }
        #expect(turns > 2)
        for client in clients { #expect(client.state(EngineFixture.root)?.total == 4 + turns) }
    }

    /// A window around an object that has left is refused to a new client. A resuming client gets the row at the
    /// object's position. The order of their requests does not matter.
    @Test(arguments: [false, true]) func aMissingAnchorIsRefusedUnlessAClientResumes(isReturningFirst: Bool) throws {
        let request = self.around(self.ids[1])
        let back = try self.fixture.connect(session: 2)
        try self.fixture.perform([back.subscribe(request)])
        try self.read()
        #expect(self.shown(back, request) == [self.ids[1], self.ids[2]])
        try self.fixture.restart()
        let comes = try self.fixture.connect(session: 3)
        try self.fixture.perform([
            self.writer.connect(as: self.fixture.newConnection()), back.connect(as: self.fixture.newConnection()),
        ])
        let inputs = back.resumeAll() + [comes.subscribe(request)]
        for input in isReturningFirst ? inputs : inputs.reversed() { try self.fixture.perform([input]) }
        #expect(self.fixture.reads.count == 1)
        try self.fixture.write(self.writer, [.delete(.object(self.ids[1]))])
        try self.read()
        try self.read()
        #expect(comes.refusal?.code == .notFound && comes.subscriptions.isEmpty)
        #expect(back.refusal == nil && back.subscriptions[request]?.state?.window?.anchor == self.ids[2])
        #expect(self.shown(back, request) == [self.ids[2], self.ids[3]])
    }

    /// The object is a row at the time of the request and of the answer, but not at the time of the read.
    @Test func anAnchorMayBeMissingDuringTheRead() throws {
        let client = try self.fixture.connect(session: 2)
        let request = self.around(self.ids[1])
        try self.fixture.perform([client.subscribe(request)])
        let other = try self.fixture.write(self.writer, [EngineFixture.insert("elsewhere")]).insertedIDs[0]
        try self.fixture.write(self.writer, [EngineFixture.move(self.ids[1], under: other, .last)])
        let read = self.fixture.reads.removeFirst()
        let outcome = read.run(self.fixture.store.reader)
        try self.fixture.write(self.writer, [EngineFixture.move(self.ids[1], .first)])
        try self.fixture.perform([.read(read.id, outcome)])
        while !self.fixture.reads.isEmpty { try self.read() }
        #expect(self.shown(client, request) == [self.ids[1], self.ids[0]])
        #expect(client.subscriptions[request]?.state?.window?.anchor == self.ids[1])
    }

    @Test func aRequestForALaterRevisionGetsItsOwnRead() throws {
        let clients = try (0..<2).map { try self.fixture.connect(session: 10 + $0) }
        let request = SimulatedClient.children(of: EngineFixture.root)
        try self.fixture.perform([clients[0].subscribe(request)])
        let outcome = self.fixture.reads[0].run(self.fixture.store.reader)
        let head = try self.fixture.write(self.writer, [EngineFixture.edit(EngineFixture.root, "root")]).revision
        let (id, input) = clients[1].request(.subscribe(request, resume: nil, atLeast: head))
        try self.fixture.perform([input])
        #expect(self.fixture.reads.count == 2)
        try self.fixture.perform([.read(self.fixture.reads.removeFirst().id, outcome)])
        #expect(clients[1].replies[id] == nil)
        // The first client's rows were read before the write and are still exact, as the engine reports.
        #expect(clients[0].state(EngineFixture.root)?.revision == head)
    }

    /// An unused result is kept while it is read again.
    @Test func aReadKeepsAnUnusedResult() throws {
        let client = try self.fixture.connect(session: 2)
        try self.fixture.perform([client.subscribe(EngineFixture.root)])
        try self.read()
        try self.fixture.perform(client.unsubscribe())
        try self.fixture.perform([client.subscribe(EngineFixture.root)])
        #expect(self.fixture.reads.count == 1)
        self.fixture.now += Int64(Limits.unusedResultSeconds + 1) * 1_000_000
        try self.fixture.perform([.tick])
        try self.read()
        #expect(client.state(EngineFixture.root)?.total == 4)
    }
}
