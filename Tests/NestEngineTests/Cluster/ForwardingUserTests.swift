import NestEngine
import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// The users of writes that clients send to a follower.
@Suite struct ForwardingUserTests {
    private let fixture: ReplicaFixture
    private var follower: SimulatedNode { self.fixture.follower }
    private var leader: SimulatedNode { self.fixture.leader }

    init() throws {
        self.fixture = try ReplicaFixture()
        try self.follower.link.connect(to: self.leader)
    }

    /// A write through a follower has the user of the client, at all nodes; so do the conflicts of its undo.
    @Test func aForwardedWriteHasItsUser() throws {
        let ann = try self.fixture.connect(session: 1, to: self.follower, user: UserLabel("Ann", isClaimed: true))
        let bob = try self.fixture.connect(session: 2, to: self.leader, user: UserLabel("Bob"))
        for (client, text) in [(bob, "one"), (ann, "two")] {
            _ = try self.fixture.send(client, self.fixture.insert(text))
            try self.fixture.exchange()
            try self.fixture.stream()
        }
        let edit = EngineRequest.transaction(WriteTransaction(mutations: [EngineFixture.edit(ObjectID(3), "by Bob")]))
        _ = try self.fixture.send(bob, edit)
        try self.fixture.exchange()
        try self.fixture.stream()
        for (client, node) in [(ann, self.follower), (bob, self.leader)] {
            let history = try self.fixture.send(client, .history(before: Revision(0), limit: 9, onlyMine: false))
            try node.step()
            let users = try #require(client.replies[history.id]?.entries).map { $0.user?.text }
            #expect(users == ["Bob", "Ann", "Bob"])
        }
        let undo = try self.fixture.send(ann, .undo(key: nil, UndoOptions(policy: .force)))
        try self.fixture.exchange()
        try self.fixture.stream()
        let receipt = try #require(ann.replies[undo.id]?.receipt)
        #expect(receipt.conflicts.listed.map { $0.user?.text } == ["Bob"])
    }
}
