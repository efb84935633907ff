import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// AUTHORS: the authors of what the next diffs contain.
@Suite struct AuthorsTests {
    private static let ann = UserLabel("Ann")
    private static let bob = UserLabel("Bob", isClaimed: true)
    private static let inside = ObjectID(2)
    private static let scope = AuthorisationScope.subtree(
        AccessConfinement(root: Self.inside, entity: EngineFixture.item, relationship: PropertyNumber(6))
    )

    private let fixture: EngineFixture

    init() throws { self.fixture = try EngineFixture() }

    private func insert(_ client: SimulatedClient, _ title: String, under owner: ObjectID = EngineFixture.root)
        -> EngineInput
    {
        client.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert(title, under: owner)]))).input
    }

    private func author(_ revision: UInt64, _ session: UInt64, _ user: UserLabel?) -> RevisionAuthor {
        RevisionAuthor(revision: Revision(revision), sessionNumber: session, user: user)
    }

    /// All followers of a batch share one message, which comes before the diffs.
    @Test func aBatchNamesItsAuthorsOnceBeforeTheDiffs() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        let bob = try self.fixture.connect(session: 2, user: Self.bob)
        let other = try self.fixture.connect(session: 3)
        let followers = try (4...6).map { try self.fixture.connect(session: $0, followsAuthors: true) }
        // The last one has no list.
        for client in followers.dropLast() + [other] {
            try self.fixture.perform([client.subscribe(EngineFixture.root)])
        }
        let effects = try self.fixture.perform([
            self.insert(ann, "1"), self.insert(bob, "2"), self.insert(other, "3"),
        ])
        #expect(Self.kinds(effects) == ["authors 2", "push"])
        let expected = [self.author(1, 1, Self.ann), self.author(2, 2, Self.bob), self.author(3, 3, nil)]
        #expect(followers.map(\.authors) == [[expected], [expected], []])
        #expect(other.authors.isEmpty)
    }

    /// A batch that changes no list of the client is not announced.
    @Test func aBatchWithoutADiffHasNoAuthors() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        try self.fixture.perform([self.insert(ann, "1")])
        let follower = try self.fixture.connect(session: 2, followsAuthors: true)
        try self.fixture.perform([follower.subscribe(EngineFixture.root)])
        try self.fixture.perform([self.insert(ann, "below", under: Self.inside)])
        #expect(follower.authors.isEmpty)
        try self.fixture.perform([self.insert(ann, "2")])
        #expect(follower.authors == [[self.author(3, 1, Self.ann)]])
        // Without the follower nothing is sent.
        try self.fixture.perform([.disconnected(follower.connection)])
        let effects = try self.fixture.perform([self.insert(ann, "3")])
        #expect(!effects.contains { if case .authors = $0 { true } else { false } })
    }

    /// A confined follower gets the authors of its own reach, in a message of their own.
    @Test func aConfinedFollowerGetsTheAuthorsOfItsReach() throws {
        let all = try self.fixture.connect(session: 1, user: Self.ann, followsAuthors: true)
        try self.fixture.perform([self.insert(all, "inside")])
        let guests = try (2...3).map {
            try self.fixture.connect(session: $0, scope: Self.scope, user: UserLabel("Guest"), followsAuthors: true)
        }
        for client in guests + [all] { try self.fixture.perform([client.subscribe(Self.inside)]) }
        try self.fixture.perform([
            self.insert(all, "SECRET", under: EngineFixture.root), self.insert(all, "a", under: Self.inside),
            self.insert(guests[0], "b", under: Self.inside),
        ])
        let guest = self.author(4, 2, UserLabel("Guest"))
        #expect(guests.map(\.authors) == [[[guest]], [[guest]]])
        #expect(all.authors == [[self.author(2, 1, Self.ann), self.author(3, 1, Self.ann), guest]])
        // A batch of other reach only: a diff without authors.
        try self.fixture.perform([self.insert(all, "c", under: Self.inside)])
        #expect(guests.map(\.authors.count) == [1, 1] && all.authors.count == 2)
    }

    /// A blocked connection gets the authors with its net difference.
    @Test func aNetDifferenceNamesTheAuthorsSinceTheBlock() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        let follower = try self.fixture.connect(session: 2, followsAuthors: true)
        try self.fixture.perform([follower.subscribe(EngineFixture.root)])
        try self.fixture.perform([self.insert(ann, "1")])
        try self.fixture.perform([follower.block()])
        for title in ["2", "3"] { try self.fixture.perform([self.insert(ann, title)]) }
        #expect(follower.authors == [[self.author(1, 1, Self.ann)]])
        try self.fixture.perform([follower.drain()])
        #expect(follower.authors.last == [self.author(2, 1, Self.ann), self.author(3, 1, Self.ann)])
    }

    /// The net difference of a confined follower names the authors of its reach only, or none.
    @Test func aConfinedNetDifferenceNamesTheAuthorsOfItsReach() throws {
        let all = try self.fixture.connect(session: 1, user: Self.ann)
        try self.fixture.perform([self.insert(all, "inside")])
        let guests = try (2...3).map {
            try self.fixture.connect(session: $0, scope: Self.scope, user: UserLabel("Guest"), followsAuthors: true)
        }
        let (writer, follower) = (guests[0], guests[1])
        try self.fixture.perform([follower.subscribe(Self.inside)])
        try self.fixture.perform([follower.block()])
        for client in [all, writer, all] {
            try self.fixture.perform([self.insert(client, "x", under: Self.inside)])
        }
        try self.fixture.perform([follower.drain()])
        #expect(follower.authors == [[self.author(3, 2, UserLabel("Guest"))]])
        try self.fixture.perform([follower.block()])
        try self.fixture.perform([self.insert(all, "y", under: Self.inside)])
        let effects = try self.fixture.perform([follower.drain()])
        #expect(Self.kinds(effects) == ["push"])
        #expect(follower.authors.count == 1)
    }

    /// The authors of a net difference are limited to the newest.
    @Test func theAuthorsOfALongNetDifferenceAreTheNewest() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        let follower = try self.fixture.connect(session: 2, followsAuthors: true)
        try self.fixture.perform([follower.subscribe(EngineFixture.root)])
        try self.fixture.perform([follower.block()])
        for title in 0..<200 { try self.fixture.perform([self.insert(ann, "\(title)")]) }
        try self.fixture.perform([follower.drain()])
        let revisions = try #require(follower.authors.first).map(\.revision.rawValue)
        #expect(revisions == Array(73...200))
    }

    // MARK: Cost

    private static func kinds(_ effects: [EngineEffect]) -> [String] {
        effects.compactMap { effect in
            switch effect {
            case .authors(_, let to): "authors \(to.count)"
            case .push: "push"
            default: nil
            }
        }
    }

    /// All net differences of a drained connection share one message, which begins at the oldest of their bases.
    @Test func theNetDifferencesOfADrainShareOneMessage() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        for title in ["a", "b"] { try self.fixture.perform([self.insert(ann, title)]) }
        let other = try self.fixture.connect(session: 2)
        let follower = try self.fixture.connect(session: 3, followsAuthors: true)
        // The view that is sent first has the latest base: the follower joins it when it is blocked already.
        let lists = [Self.inside, ObjectID(3), EngineFixture.root]
        try self.fixture.perform([other.subscribe(lists[0])])
        for list in lists.dropFirst() { try self.fixture.perform([follower.subscribe(list)]) }
        try self.fixture.perform([follower.block()])
        try self.fixture.perform([self.insert(ann, "1", under: lists[1])])
        try self.fixture.perform([follower.subscribe(lists[0])])
        for list in lists { try self.fixture.perform([self.insert(ann, "2", under: list)]) }
        let effects = try self.fixture.perform([follower.drain()])
        #expect(Self.kinds(effects) == ["authors 1", "push", "push", "push"])
        #expect(follower.authors == [(3...6).map { self.author($0, 1, Self.ann) }])
    }

    /// Subscriptions that resume on one connection share the authors, until the head moves.
    @Test func resumedSubscriptionsShareTheirAuthors() throws {
        let ann = try self.fixture.connect(session: 1, user: Self.ann)
        for title in ["a", "b"] { try self.fixture.perform([self.insert(ann, title)]) }
        let follower = try self.fixture.connect(session: 2, followsAuthors: true)
        let lists = [Self.inside, ObjectID(3), EngineFixture.root]
        for list in lists { try self.fixture.perform([follower.subscribe(list)]) }
        try self.fixture.perform([.disconnected(follower.connection)])
        for list in lists { try self.fixture.perform([self.insert(ann, "1", under: list)]) }
        try self.fixture.perform([follower.connect(as: self.fixture.newConnection())])
        let effects = try self.fixture.perform(follower.resumeAll())
        #expect(Self.kinds(effects) == ["authors 1", "push", "push", "push"])
        #expect(follower.authors == [(3...5).map { self.author($0, 1, Self.ann) }])
        // A later batch is named again, and then a state that is older than it.
        try self.fixture.perform([self.insert(ann, "2")])
        #expect(follower.authors.last == [self.author(6, 1, Self.ann)])
        try self.fixture.perform([self.insert(ann, "2", under: Self.inside), follower.block()])
        for list in lists { try self.fixture.perform([self.insert(ann, "3", under: list)]) }
        try self.fixture.perform([follower.drain()])
        // It was blocked before the diff of its batch was sent.
        #expect(follower.authors.count == 3)
        #expect(follower.authors.last == (7...10).map { self.author($0, 1, Self.ann) })
    }

    /// Returns the work of a turn in which a drained follower gets its net differences.
    private func drainWork(followsAuthors: Bool) throws -> Int {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1, user: Self.ann)
        try fixture.perform([self.insert(ann, "a")])
        let follower = try fixture.connect(session: 2, followsAuthors: followsAuthors)
        for list in [EngineFixture.root, Self.inside] { try fixture.perform([follower.subscribe(list)]) }
        try fixture.perform([follower.block()])
        for list in [EngineFixture.root, Self.inside] {
            try fixture.perform((0..<20).map { self.insert(ann, "\($0)", under: list) })
        }
        try fixture.perform([follower.drain()])
        return fixture.engine.admission.work
    }

    /// The headers that a drain reads are work of its turn: 40 of them, and the bytes of the message.
    @Test func theAuthorsOfADrainAreWork() throws {
        let work = try self.drainWork(followsAuthors: true) - self.drainWork(followsAuthors: false)
        #expect((40...42).contains(work), "\(work)")
    }

    /// Returns the work of a batch of three writes, with a list of each of several reaches.
    private func batchWork(reaches: Int, followsAuthors: Bool) throws -> Int {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1, user: Self.ann)
        let roots = (2..<5).map { ObjectID($0) }
        for root in roots { try fixture.perform([self.insert(ann, "\(root)")]) }
        for (index, root) in roots.prefix(reaches).enumerated() {
            let scope = AuthorisationScope.subtree(
                AccessConfinement(root: root, entity: EngineFixture.item, relationship: PropertyNumber(6))
            )
            let guest = try fixture.connect(
                session: UInt64(index + 2),
                scope: scope,
                user: Self.bob,
                followsAuthors: followsAuthors
            )
            try fixture.perform([guest.subscribe(root)])
        }
        try fixture.perform(roots.map { self.insert(ann, "x", under: $0) })
        return fixture.engine.admission.work
    }

    /// The headers of a batch are read once, however many reaches its followers have.
    @Test(arguments: [1, 3]) func theAuthorsOfABatchAreReadOnce(_ reaches: Int) throws {
        let work = try self.batchWork(reaches: reaches, followsAuthors: true)
        #expect(try work - self.batchWork(reaches: reaches, followsAuthors: false) == 3)
    }
}
