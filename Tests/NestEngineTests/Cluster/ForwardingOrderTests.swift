import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// The writes of one connection at a follower are executed in the order in which they came, whatever happens to one of
/// them.
@Suite struct ForwardingOrderTests {
    private let fixture: ReplicaFixture
    private var follower: SimulatedNode { self.fixture.follower }
    private var leader: SimulatedNode { self.fixture.leader }

    init() throws {
        self.fixture = try ReplicaFixture()
        try self.follower.link.connect(to: self.leader)
    }

    /// The second write is under way when the first one is refused, or is in the same batch behind it. An undo runs in
    /// a transaction of its own.
    @Test(arguments: [1, 2], [false, true])
    func aWriteThatTheLogRefusesForNowIsNotOvertaken(requestsPerBatch: Int, byAnUndo: Bool) throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let zero = try self.fixture.send(client, self.fixture.insert("zero")).id
        try self.fixture.exchange()
        let requests = [self.fixture.insert("one"), byAnUndo ? .undo(key: nil) : self.fixture.insert("two")]
        let writes = try requests.map { try self.fixture.send(client, $0).id }
        self.leader.appender!.nextFate = .refused(.logUnavailable)
        _ = try self.follower.link.carryRequests(countMax: requestsPerBatch)
        try self.fixture.exchange()
        #expect(client.replies[writes[0]] == nil && client.replies[writes[1]] == nil)
        try self.follower.perform([.tick])
        try self.fixture.exchange()
        let revisions = try ([zero] + writes).map { try #require(client.replies[$0]?.receipt).revision }
        #expect(revisions == revisions.sorted() && Set(revisions).count == 3)
    }

    /// The leader has an import when all its rows have arrived.
    @Test func whatFollowsAnImportWaitsUntilItIsAnswered() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let other = try self.fixture.connect(session: 2, to: self.follower)
        _ = try self.fixture.send(client, .beginGroup(name: nil, joined: nil))
        try self.fixture.exchange()
        let requests = [try self.fixture.importing("one"), .endGroup, .undo(key: nil), self.fixture.insert("two")]
        let ids = try requests.map { try self.fixture.send(client, $0).id }
        let beside = try self.fixture.send(other, self.fixture.insert("beside")).id
        for _ in requests { try self.fixture.exchange() }
        let revisions = try [0, 2, 3].map { try #require(client.replies[ids[$0]]?.receipt).revision }
        #expect(revisions == revisions.sorted() && Set(revisions).count == 3)
        guard case .done? = client.replies[ids[1]], let first = other.replies[beside]?.receipt?.revision else {
            Issue.record("\(String(describing: client.replies[ids[1]]))")
            return
        }
        // Other connections do not wait.
        #expect(first < revisions[0])
    }

    /// The leader has refused it, and has executed the one behind it. The refusal is lost with the link.
    @Test(arguments: [false, true]) func aWriteThatWasRefusedIsNotExecutedBehindALaterOne(recordIsFirst: Bool) throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let undo = try self.fixture.send(client, .undo(key: nil)).id
        let write = try self.fixture.send(client, self.fixture.insert("one")).id
        _ = try self.follower.link.carryRequests()
        if recordIsFirst { try self.fixture.stream() }
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        try self.fixture.exchange()
        let revision = try #require(client.replies[write]?.receipt).revision
        #expect(client.replies[undo]?.error?.code == .storageFailure && self.leader.engine!.head == revision)
    }

    /// What the leader executed over an earlier link is answered by its record; sent again it might be refused, though
    /// it was executed.
    @Test func nothingIsSentAgainBeforeTheNodeHasWhatTheLeaderExecuted() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let write = try self.fixture.send(client, self.fixture.insert("one")).id
        _ = try self.follower.link.carryRequests()
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        #expect(self.follower.link.isIdle)
        let later = try self.fixture.send(client, self.fixture.insert("two")).id
        #expect(self.follower.link.isIdle)
        try self.fixture.exchange()
        #expect(client.replies[write]?.receipt?.isReplayed == false && self.follower.link.sentAgainCount == 0)
        #expect(client.replies[later]?.receipt?.isReplayed == false)
    }

    /// A port that comes instead of an earlier one must not be answered before the writes that still wait there.
    @Test func nothingOfAPortThatIsGoneIsExecutedBehindItsSuccessor() throws {
        let fixture = try EngineFixture(isVolatile: true, turnStepsMax: 10)
        let port = try fixture.connect(session: 1)
        let other = try fixture.connect(session: 2)
        let begin = EngineRequest.beginGroup(name: nil, joined: nil)
        guard case .group(let group) = try fixture.ask(port, .forwarded(begin, group: 0, isAgain: false)) else {
            Issue.record("no group")
            return
        }
        func inserts(_ count: Int) -> EngineRequest {
            .transaction(WriteTransaction(mutations: (0..<count).map { EngineFixture.insert("\($0)") }))
        }
        // It has used many steps: others come first.
        _ = try fixture.ask(port, .forwarded(inserts(1_100), group: group, isAgain: false))
        let key = Identifier128(high: 1, low: 1)
        let insert = EngineRequest.transaction(WriteTransaction(key: key, mutations: [EngineFixture.insert("last")]))
        let write = EngineRequest.forwarded(insert, group: group, isAgain: true)
        try fixture.perform([other.request(inserts(20)).input, port.request(write).input])
        let head = fixture.engine.head
        #expect(fixture.engine.hasBacklog)
        let next = SimulatedClient(session: port.session, connection: ConnectionID(0))
        let opening = next.connect(as: fixture.newConnection())
        let effects = try fixture.perform([.disconnected(port.connection), opening, next.request(write).input])
        let errors = effects.compactMap { effect -> ErrorCode? in
            if case .reply(next.connection, _, .failure(let error)) = effect { error.code } else { nil }
        }
        #expect(errors == [.notFound] && fixture.engine.head == head)
    }

    // MARK: The group of the undo state

    @Test func aRefusedUndoEndsTheGroup() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        _ = try self.fixture.send(client, .undoState(follows: true))
        _ = try self.fixture.send(client, .beginGroup(name: nil, joined: nil))
        try self.fixture.exchange()
        #expect(client.undoState?.group != nil)
        let undo = try self.fixture.send(client, .undo(key: nil)).id
        try self.fixture.exchange()
        #expect(client.replies[undo]?.error?.code == .nothingToUndo && client.undoState?.group == nil)
    }

    @Test func aGroupThatWasBegunBehindAnUndoStays() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        _ = try self.fixture.send(client, .undoState(follows: true))
        _ = try self.fixture.send(client, self.fixture.insert("one"))
        try self.fixture.exchange()
        let undo = try self.fixture.send(client, .undo(key: nil)).id
        let begin = try self.fixture.send(client, .beginGroup(name: nil, joined: nil)).id
        // The answer to the undo waits for its record, the group does not.
        try self.follower.link.exchange()
        guard case .group(let number)? = client.replies[begin] else {
            Issue.record("no group")
            return
        }
        #expect(client.replies[undo] == nil)
        try self.fixture.exchange()
        #expect(client.replies[undo]?.receipt != nil && client.undoState?.group == number)
    }
}
