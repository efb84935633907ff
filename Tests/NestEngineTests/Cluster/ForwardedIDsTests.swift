import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

@testable import NestEngine

/// Reserved ids of clients of a follower.
@Suite struct ForwardedIDsTests {
    private let fixture: ReplicaFixture
    private let key = Identifier128(high: 7, low: 7)

    init() throws {
        self.fixture = try ReplicaFixture()
        try self.follower.link.connect(to: self.leader)
    }

    private var leader: SimulatedNode { self.fixture.leader }
    private var follower: SimulatedNode { self.fixture.follower }

    /// A request without an answer is sent again, and gets other ids: the first ones are not used.
    @Test func idsAreReservedAtTheLeader() throws {
        let client = try self.fixture.connect(session: 1, to: self.follower)
        let request = try self.fixture.send(client, .reserveIDs(3)).id
        _ = try self.follower.link.carryRequests()
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        try self.fixture.exchange()
        guard case .reserved(let first, 3)? = client.replies[request] else {
            Issue.record("no ids: \(String(describing: client.replies[request]))")
            return
        }
        guard case .insert(let entity, let values, let placements) = EngineFixture.insert("one") else { return }
        let insert = Mutation.insertAs(first, entity: entity, values: values, placements: placements)
        let write = EngineRequest.transaction(WriteTransaction(key: self.key, mutations: [insert]))
        let id = try self.fixture.send(client, write).id
        try self.fixture.exchange()
        #expect(client.replies[id]?.receipt?.insertedIDs == [first])
        // The leader and its follower have the same ids left, in their tables too.
        let digests = try [self.leader, self.follower].map { try $0.store!.reader.beginDigest().compute() }
        #expect(digests[0] == digests[1])
        let other = try self.fixture.connect(session: 2, to: self.leader)
        let next = try self.fixture.send(other, self.fixture.insert("two"))
        #expect(try #require(next.reply?.receipt?.firstInserted).rawValue > first.rawValue + 2)
    }
}
