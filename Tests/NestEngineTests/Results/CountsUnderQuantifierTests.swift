import NestModel
import NestTestSupport
import Testing

/// ANY, ALL and NONE of counts, on the built-in model: the counts of each child's children.
@Suite struct CountsUnderQuantifierTests {
    private static let children = PropertyNumber(6)
    private let fixture: EngineFixture
    private let client: SimulatedClient

    init() throws {
        self.fixture = try EngineFixture()
        self.client = try self.fixture.connect(session: 1)
    }

    private func request(_ quantifier: Comparison.Quantifier) -> ObjectFetchRequest {
        let hasChildren = Comparison(
            quantifier: quantifier,
            path: PropertyPath(steps: [Self.children], leaf: .count(Self.children)),
            operator: .greater,
            values: [.integer(0)]
        )
        return ObjectFetchRequest(entity: EngineFixture.item, predicate: FetchPredicate(hasChildren))
            .canonical(in: .nestedList)
    }

    private func insert(under owner: ObjectID) throws -> ObjectID {
        try #require(try self.fixture.write(self.client, [EngineFixture.insert("x", under: owner)]).firstInserted)
    }

    private func ids(_ quantifier: Comparison.Quantifier) -> [ObjectID]? {
        self.client.subscriptions[self.request(quantifier)]?.state?.sections.flatMap(\.rows).map(\.id)
    }

    @Test func thePredicateIsParsed() throws {
        let item = try #require(ManagedObjectModel.nestedList.entity(named: "Item"))
        let predicate = try FetchPredicate("ANY children.children.@count > 0", of: item, in: .nestedList)
        #expect(predicate == self.request(.any).predicate)
        #expect(predicate.faults(for: item, in: .nestedList).isEmpty)
    }

    /// The results follow insertions, moves and deletions, beginning with an empty list.
    @Test func resultsFollowTheirCounts() throws {
        let root = EngineFixture.root
        for quantifier in [Comparison.Quantifier.any, .all, .none] {
            try self.fixture.perform([self.client.subscribe(self.request(quantifier))])
        }
        #expect(self.ids(.any) == [] && self.ids(.all) == [root] && self.ids(.none) == [root])
        let branch = try self.insert(under: root)
        let leaf = try self.insert(under: root)
        #expect(self.ids(.any) == [] && self.ids(.all) == [branch, leaf] && self.ids(.none) == [root, branch, leaf])
        let twig = try self.insert(under: branch)
        #expect(self.ids(.any) == [root] && self.ids(.all) == [leaf, twig])
        #expect(self.ids(.none) == [branch, leaf, twig])
        try self.fixture.write(self.client, [EngineFixture.move(twig, under: leaf, .last)])
        #expect(self.ids(.any) == [root] && self.ids(.all) == [branch, twig])
        try self.fixture.write(self.client, [.delete(.object(branch))])
        #expect(self.ids(.any) == [root] && self.ids(.all) == [root, twig] && self.ids(.none) == [leaf, twig])
    }

    /// A client that resumes the subscription receives the changes.
    @Test func aResumedSubscriptionReceivesTheChanges() throws {
        try self.fixture.perform([self.client.subscribe(self.request(.any))])
        let branch = try self.insert(under: EngineFixture.root)
        try self.fixture.restart()
        let others = try self.fixture.connect(session: 2)
        try self.fixture.write(others, [EngineFixture.insert("x", under: branch)])
        try self.fixture.perform([self.client.connect(as: self.fixture.newConnection())] + self.client.resumeAll())
        #expect(self.ids(.any) == [EngineFixture.root])
    }
}
