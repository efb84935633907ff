import NestEngine
import NestModel
import NestTestSupport
import Testing

/// Results that depend on objects other than their rows, with the model `ModelDraft.workshop`.
@Suite struct RelatedResultsTests {
    private let model: ManagedObjectModel
    private let fixture: EngineFixture
    private let client: SimulatedClient
    private let parent: PropertyNumber
    private let entry: EntityNumber

    init() throws {
        self.model = try ModelDraft.workshop.compile()
        self.fixture = try EngineFixture(model: self.model)
        self.client = try self.fixture.connect(session: 1)
        self.parent = self.model.number("Entry", "parent")
        self.entry = self.model.number("Entry")
    }

    private func insertion(under parent: ObjectID?) -> Mutation {
        let above = parent.map { PropertyAssignment(self.parent, .reference(.object($0))) }
        return .insert(entity: self.entry, values: above.map { [$0] } ?? [], placements: [])
    }

    private func insert(under parent: ObjectID? = nil) throws -> ObjectID {
        try #require(try self.fixture.write(self.client, [self.insertion(under: parent)]).firstInserted)
    }

    private func move(_ id: ObjectID, under parent: ObjectID?) -> Mutation {
        let value = parent.map { MutationValue.reference(.object($0)) } ?? .value(.null)
        return .update(.object(id), values: [PropertyAssignment(self.parent, value)])
    }

    /// Performs several transactions in one batch.
    private func batch(_ transactions: [[Mutation]]) throws {
        let inputs = transactions.map { self.client.request(.transaction(WriteTransaction(mutations: $0))) }
        try self.fixture.perform(inputs.map(\.input))
        for (id, _) in inputs { #expect(self.client.replies[id]?.receipt != nil) }
    }

    private func subtree(_ root: ObjectID) -> ObjectFetchRequest {
        let children = self.model.number("Entry", "children")
        let isBelow = Comparison(
            path: PropertyPath(leaf: .object),
            operator: .inSubtree,
            values: [.reference(root), .integer(Int64(children.rawValue))]
        )
        return ObjectFetchRequest(entity: self.entry, predicate: FetchPredicate(isBelow)).canonical(in: self.model)
    }

    private func expectExact(_ requests: [ObjectFetchRequest]) throws {
        let naive = try NaiveResults(self.fixture.store)
        for request in requests {
            let held = try #require(self.client.subscriptions[request]?.state)
            #expect(held.sections == naive.sections(request, held.projection))
        }
    }

    private func ids(_ request: ObjectFetchRequest) -> [ObjectID] {
        self.client.subscriptions[request]?.state?.sections.flatMap(\.rows).map(\.id) ?? []
    }

    /// An object that is inserted below a branch is not in the tree if the same batch moves the branch out, in
    /// whichever order the engine evaluates them.
    @Test func objectsInsertedBelowALeavingBranchAreNotInTheSubtree() throws {
        let root = try self.insert()
        let branch = try self.insert(under: root)
        let twig = try self.insert(under: branch)
        let request = self.subtree(root)
        try self.fixture.perform([self.client.subscribe(request)])
        #expect(self.ids(request) == [branch, twig])
        let leaves = (0..<20).map { _ in [self.insertion(under: twig)] }
        try self.batch([[self.move(branch, under: nil)]] + leaves)
        #expect(self.ids(request).isEmpty)
        try self.batch([[self.move(branch, under: root)], [self.insertion(under: twig)]])
        #expect(self.ids(request).count == 23)
        try self.expectExact([request])
    }

    /// An object leaves the tree, and then the root moves below it. The objects below the root stay.
    @Test func theRootMayMoveBelowAnObjectThatLeavesItsSubtree() throws {
        let root = try self.insert()
        let children = try (0..<3).map { _ in try self.insert(under: root) }
        let request = self.subtree(root)
        try self.fixture.perform([self.client.subscribe(request)])
        try self.batch([[self.move(children[0], under: nil)], [self.move(root, under: children[0])]])
        #expect(self.ids(request) == [children[1], children[2]])
        try self.batch([[self.move(root, under: nil)], [self.move(children[0], under: children[2])]])
        #expect(self.ids(request) == children)
        try self.expectExact([request])
    }

    /// Many results depend on the same path. Changes of the objects at its end update all of them.
    @Test func manyResultsMayShareAPath() throws {
        let users = try (0..<2).map { _ in
            try #require(
                try self.fixture.write(
                    self.client,
                    [.insert(entity: self.model.number("User"), values: [], placements: [])]
                ).firstInserted
            )
        }
        let user = self.model.number("Entry", "user")
        let name = PropertyPath(steps: [user], leaf: .attribute(self.model.number("User", "name")))
        let isAnn = Comparison(path: name, operator: .equal, values: [.string("Ann")])
        var requests: [ObjectFetchRequest] = []
        for _ in 0..<6 {
            let entries = try (0..<2).map { _ in try self.insert() }
            let label = try #require(
                try self.fixture.write(
                    self.client,
                    [.insert(entity: self.model.number("Label"), values: [], placements: [])]
                ).firstInserted
            )
            for (entry, owner) in zip(entries, users) {
                let assignment = PropertyAssignment(user, .reference(.object(owner)))
                try self.fixture.write(self.client, [.update(.object(entry), values: [assignment])])
            }
            let related = self.model.number("Label", "entries")
            try self.fixture.write(
                self.client,
                [.setRelated(.object(label), related, entries.map { .object($0) })]
            )
            let source = FetchSource(object: label, relationship: related)
            requests.append(ObjectFetchRequest(entity: self.entry, source: source, predicate: FetchPredicate(isAnn)))
            requests.append(ObjectFetchRequest(entity: self.entry, source: source, columns: [name]))
        }
        requests = requests.map { $0.canonical(in: self.model) }
        for request in requests { try self.fixture.perform([self.client.subscribe(request)]) }
        for (owner, text) in [(users[0], "Ann"), (users[1], "Bo"), (users[1], "Ann"), (users[0], "Cy")] {
            let assignment = PropertyAssignment(self.model.number("User", "name"), .value(.string(text)))
            try self.batch([[.update(.object(owner), values: [assignment])]])
            try self.expectExact(requests)
        }
        #expect(self.ids(requests[0]).count == 1)
    }
}
