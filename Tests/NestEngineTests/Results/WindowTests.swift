import NestEngine
import NestModel
import Testing
import NestProtocol

/// Pushes to windows, case by case. `ResultsSimulationTests` tests every kind of window with random histories.
@Suite struct WindowTests {
    private static let title = OrderingTerm(EngineFixture.title)

    /// Returns a request for the items whose titles begin with "t", sorted by title.
    private static func titled(_ window: FetchWindow? = nil) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EngineFixture.item,
            projection: [EngineFixture.title],
            sort: [Self.title],
            predicate: .init(
                Comparison(
                    path: PropertyPath(leaf: .attribute(EngineFixture.title)),
                    operator: .beginsWith,
                    values: [.string("t")]
                )
            ),
            window: window
        )
    }

    private let fixture: EngineFixture
    private let writer: SimulatedClient
    private let client: SimulatedClient
    private let ids: [ObjectID]

    /// Items t1 to t5.
    init() throws { try self.init(windowWorkMax: Limits.windowWorkMax) }

    private init(windowWorkMax: Int) throws {
        self.fixture = try EngineFixture(windowWorkMax: windowWorkMax)
        self.writer = try self.fixture.connect(session: 1)
        self.client = try self.fixture.connect(session: 2)
        let inserts = (1...5).map { EngineFixture.insert("t\($0)") }
        self.ids = try self.fixture.write(self.writer, inserts).insertedIDs
    }

    private func subscribe(_ window: FetchWindow) throws -> ObjectFetchRequest {
        let request = Self.titled(window)
        try self.fixture.perform([self.client.subscribe(request)])
        return request
    }

    private func shown(_ request: ObjectFetchRequest) -> [ObjectID] {
        self.client.subscriptions[request]?.state?.sections.flatMap { $0.rows.map(\.id) } ?? []
    }

    private func position(_ request: ObjectFetchRequest) -> WindowPosition? {
        self.client.subscriptions[request]?.state?.window
    }

    @Test func aFetchAroundAnObjectNamesItsAnchor() throws {
        let reply = try self.fixture.ask(
            self.client,
            .fetch(Self.titled(.around(self.ids[2], before: 1, after: 0)), atLeast: Revision(0))
        )
        guard case .snapshot(let header, _, _) = reply else { return #expect(Bool(false), "\(reply)") }
        #expect(header.window.anchor == self.ids[2] && header.window.start.row == 1)
    }

    /// The position of a window is pushed ten times a second. A client that changes to an existing subscription gets it
    /// at once.
    @Test func aClientThatJoinsASubscriptionGetsThePositionAtOnce() throws {
        let (one, other) = (
            try self.subscribe(.range(offset: 0, limit: 2)), try self.subscribe(.range(offset: 1, limit: 1))
        )
        try self.fixture.write(self.writer, [EngineFixture.insert("t6")])
        #expect(self.position(one)?.total == 5)
        try self.fixture.perform([try #require(self.client.change(other, to: one))])
        #expect(self.client.changeAnswers.last.map { "\($0.reply)" }?.contains("alreadySubscribed") == true)
        #expect(self.position(one)?.total == 6)
    }

    @Test func aBlockedClientGetsThePositionAfterItDrains() throws {
        let request = try self.subscribe(.range(offset: 0, limit: 2))
        try self.fixture.write(self.writer, [EngineFixture.insert("t6")])
        try self.fixture.perform([self.client.block(), .positionTimer])
        #expect(self.position(request)?.total == 5)
        try self.fixture.perform([self.client.drain()])
        try self.fixture.perform([.positionTimer])
        #expect(self.position(request)?.total == 6)
    }

    /// Of two clients, one knows a later position. When the position is the earlier one again, that client gets it.
    @Test func aPositionThatReturnsIsSentToClientsWithALaterOne() throws {
        let request = try self.subscribe(.range(offset: 0, limit: 2))
        let other = try self.fixture.connect(session: 3)
        let id = try self.fixture.write(self.writer, [EngineFixture.insert("t6")]).insertedIDs[0]
        try self.fixture.perform([other.subscribe(request)])
        try self.fixture.write(self.writer, [.delete(.object(id))])
        try self.fixture.perform([.positionTimer])
        #expect(other.subscriptions[request]?.state?.window?.total == 5)
    }

    @Test func aResumingClientGetsThePosition() throws {
        let request = try self.subscribe(.range(offset: 0, limit: 2))
        try self.fixture.write(self.writer, [EngineFixture.insert("t6")])
        try self.fixture.perform([.tick, .disconnected(self.client.connection)])
        try self.fixture.perform(
            [self.client.connect(as: self.fixture.newConnection())] + self.client.resumeAll() + [.positionTimer]
        )
        #expect(self.position(request)?.total == 6)
    }

    @Test func anEmptyWindowFollowsTheFirstNewRow() throws {
        let request = try self.subscribe(.around(self.ids[2], before: 0, after: 1))
        try self.fixture.write(self.writer, self.ids.map { EngineFixture.edit($0, "other") })
        #expect(self.position(request)?.anchor == nil && self.shown(request).isEmpty)
        // A new window around an object that is not a row is refused.
        let again = try self.fixture.ask(
            self.writer,
            .subscribe(request, resume: nil, atLeast: Revision(0))
        )
        #expect(again.error?.code == .notFound)
        try self.fixture.write(
            self.writer,
            [EngineFixture.edit(self.ids[2], "t9"), EngineFixture.edit(self.ids[4], "t8")]
        )
        #expect(self.position(request)?.anchor == self.ids[4])
        #expect(self.shown(request) == [self.ids[4], self.ids[2]])
    }

    @Test func aResumingClientsAnchorMayHaveLeft() throws {
        let request = try self.subscribe(.around(self.ids[2], before: 1, after: 1))
        for isRestart in [false, true] {
            let anchor = try #require(self.position(request)?.anchor)
            try self.fixture.perform([.disconnected(self.client.connection)])
            try self.fixture.write(self.writer, [.delete(.object(anchor))])
            if isRestart {
                try self.fixture.restart()
                try self.fixture.perform([self.writer.connect(as: self.fixture.newConnection())])
            }
            try self.fixture.perform(
                [self.client.connect(as: self.fixture.newConnection())] + self.client.resumeAll()
            )
            #expect(self.client.refusal == nil)
        }
        #expect(self.position(request)?.anchor == self.ids[4])
        #expect(self.shown(request) == [self.ids[1], self.ids[4]])
    }

    /// After a restart the engine does not know the old position of a row if the order depends on other objects.
    @Test func aWindowWithALostPositionBeginsAtTheFirstRow() throws {
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        var request = Self.titled(.around(self.ids[2], before: 1, after: 1))
        request.sort = try [OrderingTerm]("parent.title,title", of: item, in: .nestedList)
        try self.fixture.perform([self.client.subscribe(request)])
        #expect(self.shown(request) == Array(self.ids[1...3]))
        try self.fixture.write(self.writer, [.delete(.object(self.ids[2]))])
        #expect(self.position(request)?.anchor == self.ids[3])
        try self.fixture.perform([.disconnected(self.client.connection)])
        try self.fixture.write(self.writer, [.delete(.object(self.ids[3]))])
        try self.fixture.restart()
        try self.fixture.perform([self.client.connect(as: self.fixture.newConnection())] + self.client.resumeAll())
        #expect(self.client.refusal == nil)
        #expect(self.position(request)?.anchor == self.ids[0] && self.position(request)?.start.row == 0)
        #expect(self.shown(request) == Array(self.ids[..<2]))
    }

    @Test func aChangeToTheSameRequestNamesTheRevisionOfALaggingClient() throws {
        let request = try self.subscribe(.range(offset: 0, limit: 9))
        let head = self.fixture.engine.head
        try self.fixture.perform([self.client.block()])
        try self.fixture.write(self.writer, [EngineFixture.insert("t0")])
        let change = try #require(self.client.change(request, to: request))
        try self.fixture.perform([change])
        guard case .subscribed(_, .current(head), _, _)? = self.client.changeAnswers.last?.reply else {
            return #expect(Bool(false), "\(self.client.changeAnswers)")
        }
        try self.fixture.perform([self.client.drain()])
        #expect(self.shown(request).count == 6)
    }

    @Test func aLaggingWindowDelaysAnswersOfItsConnectionOnly() throws {
        let test = try WindowTests(windowWorkMax: 1)
        let requests = [
            try test.subscribe(.range(offset: 0, limit: 9)), try test.subscribe(.range(offset: 1, limit: 9)),
        ]
        let (id, input) = test.client.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("t0")])))
        try test.fixture.perform([input])
        // One window is pushed in the batch, the other in the same turn or a later one. The answer comes last.
        while test.fixture.engine.hasBacklog {
            #expect(test.client.replies[id] == nil && test.client.progress < test.fixture.engine.head)
            try test.fixture.perform([])
        }
        #expect(test.client.replies[id]?.receipt != nil && test.client.progress == test.fixture.engine.head)
        #expect(requests.map { test.shown($0).count } == [6, 5])
    }
}
