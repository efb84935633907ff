import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Presence across the nodes of a cluster.
@Suite struct ClusterPresenceTests {
    private static let scope = EngineFixture.root
    private let fixture: ReplicaFixture
    private let ann: SimulatedClient
    private let bob: SimulatedClient
    private var follower: SimulatedNode { self.fixture.follower }
    private var leader: SimulatedNode { self.fixture.leader }

    /// Ann is at the follower, Bob at the leader.
    init() throws {
        let fixture = try ReplicaFixture()
        try fixture.follower.link.connect(to: fixture.leader)
        self.fixture = fixture
        self.ann = try fixture.connect(session: 1, to: fixture.follower, user: UserLabel("Ann"))
        self.bob = try fixture.connect(session: 2, to: fixture.leader, user: UserLabel("Bob"))
        for client in [self.ann, self.bob] {
            _ = try fixture.send(client, .followPresence(scope: Self.scope, follows: true))
        }
    }

    private func show(_ client: SimulatedClient, _ text: String) throws {
        _ = try self.fixture.send(client, .setPresence(scope: Self.scope, bytes: [UInt8](text.utf8)))
    }

    /// Carries what the nodes say, and lets time pass.
    private func settle(streams: Bool = true) throws {
        for _ in 0..<10 {
            try self.fixture.run(turns: 4)
            for node in [self.follower, self.leader] { try node.perform([.positionTimer]) }
            try self.follower.link.exchange()
            if streams { try self.fixture.stream() }
        }
    }

    private func texts(_ client: SimulatedClient) -> [String] { client.presence.texts(in: Self.scope).sorted() }

    @Test func clientsOfDifferentNodesSeeEachOther() throws {
        try self.show(self.ann, "a")
        try self.show(self.bob, "b")
        try self.settle()
        for client in [self.ann, self.bob] {
            #expect(self.texts(client) == ["a", "b"])
            #expect(Set(client.presence.states(in: Self.scope).compactMap { $0.user?.text }) == ["Ann", "Bob"])
        }
        #expect(Set(self.ann.presence.states(in: Self.scope).map(\.number)).count == 2)
        try self.show(self.ann, "a2")
        _ = try self.fixture.send(self.bob, .setPresence(scope: Self.scope, bytes: nil))
        try self.settle()
        for client in [self.ann, self.bob] { #expect(self.texts(client) == ["a2"]) }
    }

    /// The follower has what the presence refers to before it shows it.
    @Test func aPresenceWaitsForTheRecordsOfItsRevision() throws {
        try self.settle()
        _ = try self.fixture.send(self.bob, self.fixture.insert("row"))
        try self.show(self.bob, "at the row")
        let head = try #require(self.leader.store).head
        try self.follower.link.exchange()
        try self.follower.perform([.positionTimer])
        #expect(try #require(self.follower.store).head < head)
        #expect(self.texts(self.ann) == [])
        #expect(self.texts(self.bob) == ["at the row"])
        try self.settle()
        #expect(try #require(self.follower.store).head == head)
        #expect(self.texts(self.ann) == ["at the row"])
    }

    @Test func whoIsAtAnotherNodeStaysForAWhileWhenTheLinkBreaksAndComesBackWithIt() throws {
        try self.show(self.ann, "a")
        try self.show(self.bob, "b")
        try self.settle()
        let frames = self.ann.presence.frameCount
        try self.follower.link.cut()
        try self.follower.link.connect(to: self.leader)
        try self.settle()
        #expect(self.texts(self.ann) == ["a", "b"] && self.texts(self.bob) == ["a", "b"])
        #expect(self.ann.presence.frameCount == frames, "nothing has happened")
        try self.follower.link.cut()
        for _ in 0..<2 {
            // Two seconds.
            try self.fixture.run(turns: 500)
            for node in [self.follower, self.leader] { try node.perform([.positionTimer]) }
        }
        #expect(self.texts(self.ann) == ["a"] && self.texts(self.bob) == ["b"])
        try self.follower.link.connect(to: self.leader)
        try self.settle()
        #expect(self.texts(self.ann) == ["a", "b"] && self.texts(self.bob) == ["a", "b"])
    }

    /// A session that comes back at the other node is there once.
    @Test func aSessionThatMovesIsNotSeenTwice() throws {
        try self.show(self.ann, "a")
        try self.settle()
        try self.fixture.move(self.ann, to: self.leader)
        try self.show(self.ann, "a")
        try self.settle()
        #expect(self.texts(self.bob) == ["a"])
    }
}
