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
        try self.exchange()
        let requests = [self.fixture.insert("one"), byAnUndo ? .undo(key: nil) : self.fixture.insert("two")]
        let writes = try requests.map { try self.fixture.send(client, $0).id }
        self.leader.appender!.nextFate = .refused(.logUnavailable)
        _ = try self.follower.link.carryRequests(countMax: requestsPerBatch)
        try self.exchange()
        #expect(client.replies[writes[0]] == nil && client.replies[writes[1]] == nil)
        try self.follower.perform([.tick])
        try self.exchange()
        let revisions = try ([zero] + writes).map { try #require(client.replies[$0]?.receipt).revision }
        #expect(revisions == revisions.sorted() && Set(revisions).count == 3)
    }

    private func exchange() throws {
        try self.follower.link.exchange()
        try self.fixture.stream()
        try self.follower.link.exchange()
        try self.fixture.stream()
    }
}
