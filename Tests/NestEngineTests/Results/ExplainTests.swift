import NestEngine
import NestModel
import NestTestSupport
import Testing
import NestProtocol

/// EXPLAIN describes how the server reads and follows a request.
@Suite struct ExplainTests {
    private let model: ManagedObjectModel
    private let fixture: EngineFixture
    private let client: SimulatedClient

    init() throws {
        self.model = try ModelDraft.club.compile()
        self.fixture = try EngineFixture(model: self.model)
        self.client = try self.fixture.connect(session: 1)
    }

    private func request(
        _ name: String,
        where text: String = "",
        sort: String = "",
        section: String = "",
        columns: [String] = []
    ) throws -> ObjectFetchRequest {
        let entity = try #require(self.model.entity(named: name))
        var request = ObjectFetchRequest(entity: entity.number)
        if !text.isEmpty { request.predicate = try FetchPredicate(text, of: entity, in: self.model) }
        if !sort.isEmpty { request.sort = try [OrderingTerm](sort, of: entity, in: self.model) }
        if !section.isEmpty { request.section = try SectionKey(section, of: entity, in: self.model) }
        request.columns = try columns.map { try PropertyPath($0, of: entity, in: self.model) }
        return request
    }

    private func explain(_ request: ObjectFetchRequest) throws -> Explanation {
        let reply = try self.fixture.ask(self.client, .explain(request))
        guard let explanation = reply.explanation else { throw try #require(reply.error) }
        // An explanation is unchanged after it is encoded and decoded.
        var writer = ByteWriter()
        writer.write(explanation: explanation)
        let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.explanation() }
        #expect(read == explanation)
        return explanation
    }

    private func insert(_ entity: String, _ values: [(String, AttributeValue)] = []) throws -> ObjectID {
        let assignments = values.map { PropertyAssignment(self.model.number(entity, $0.0), .value($0.1)) }
        let mutation = Mutation.insert(entity: self.model.number(entity), values: assignments, placements: [])
        return try #require(try self.fixture.write(self.client, [mutation]).firstInserted)
    }

    private func text(_ explanation: Explanation, _ name: String) -> String? {
        explanation.request.first { $0.name == name }?.text
    }

    @Test func theExplanationShowsTheCanonicalRequest() throws {
        let found = try self.explain(
            try self.request(
                "Person",
                where: "rank > 1 AND (rank > 1 OR rank > 1) AND ANY groups.title == \"x\"",
                sort: "name:ci,-rank,-name:ci,name,groups.@count",
                section: "firstCharacter(name)",
                columns: ["leads.title"]
            )
        )
        #expect(self.text(found, "entity") == "Person")
        #expect(self.text(found, "where") == "rank > 1 AND ANY groups.title == \"x\"")
        #expect(self.text(found, "sort") == "name:c,-rank,name,groups.@count")
        #expect(self.text(found, "section") == "firstCharacter(name)")
        #expect(try #require(self.text(found, "properties")).hasSuffix(",leads.title"))
        #expect(
            found.paths == [
                .init("groups.title", tables: ["Party_groups", "Group"]), .init("leads.title", tables: ["Group"]),
                .init("groups.@count", tables: ["Party_groups"]),
            ]
        )
    }

    /// The routing is the smallest known set of changed objects that contains all relevant ones.
    @Test func theRouteIsTheSmallestSetOfChanges() throws {
        let person = try self.insert("Person", [("name", .string("Ann"))])
        func route(_ request: ObjectFetchRequest) throws -> String {
            let found = try self.explain(request)
            return "\(found.routing.name) \(found.route); \(found.reading.name) \(found.candidates)"
        }
        #expect(try route(self.request("Task")) == "table Task; ordered Task")
        #expect(try route(self.request("Task", sort: "title:ci")) == "table Task; sorted Task")
        // A list without the root of its entity is as fast as one with it.
        #expect(
            try route(self.request("Task", where: "SELF != 1", sort: "title"))
                == "table Task; ordered Task where SELF != 1"
        )
        let both = try route(self.request("Task", where: "party == \(person) AND title == \"x\""))
        #expect(both == "value party == \(person); examined Task where title == \"x\" AND party == \(person)")
        #expect(
            try route(self.request("Task", where: "party == \(person)", sort: "order"))
                == "value party == \(person); ordered Task where party == \(person)"
        )
        #expect(
            try route(self.request("Memo", where: "title == \"x\" OR party == \(person)"))
                == "table Task; examined Memo"
        )
        var groups = try self.request("Group")
        groups.source = FetchSource(object: person, relationship: self.model.number("Party", "groups"))
        #expect(
            try route(groups) == "pair Party.groups of \(person); ordered Group where in Party.groups of \(person)"
        )
        #expect(self.text(try self.explain(groups), "source") == "Party.groups of \(person)")
    }

    @Test func onlyRequestsOfRowValuesAreInTheJournal() throws {
        #expect(try self.explain(self.request("Task", where: "title == \"x\"", sort: "due")).isInJournal)
        #expect(try !self.explain(self.request("Task", sort: "party.name")).isInJournal)
        #expect(try !self.explain(self.request("Task", columns: ["groups.@count"])).isInJournal)
        #expect(try !self.explain(self.request("Task", where: "party.rank == 1")).isInJournal)
    }

    /// An explanation loads nothing and has the statistics of a live result.
    @Test func liveResultsAreSharedAndHaveStatistics() throws {
        for name in ["Ann", "bob", "Bea"] { _ = try self.insert("Person", [("name", .string(name))]) }
        let request = try self.request("Person", sort: "name:ci", section: "firstCharacter(name)")
        #expect(try self.explain(request).live == nil)
        #expect(try self.explain(request).live == nil, "the explanation has loaded a result")
        var narrow = request
        narrow.projection = [self.model.number("Person", "name")]
        for (number, request) in [(1, request), (2, request), (3, narrow)] as [(UInt64, ObjectFetchRequest)] {
            let id = self.fixture.newConnection()
            try self.fixture.perform([
                .connected(id, session: Identifier128(high: 8, low: number), scope: .everything),
                .request(id, requestID: 1, .subscribe(request, resume: nil, atLeast: Revision(0))),
            ])
        }
        let before = try #require(try self.explain(request).live)
        #expect(before.rows == 3 && before.sections == 2 && before.views == 2 && before.subscriptions == 3)
        #expect(before.evaluations == 0 && before.changes == 0 && before.bytes > 0)
        _ = try self.insert("Person", [("name", .string("Cy"))])
        _ = try self.insert("Company", [("name", .string("Cy"))])
        let after = try #require(try self.explain(narrow).live)
        #expect(after.rows == 4 && after.sections == 3 && after.evaluations == 2 && after.changes == 1)
        // Requests that differ only in their window share a result.
        narrow.window = FetchWindow(limit: 1)
        #expect(try self.explain(narrow).live == after)
    }

    @Test func explainRefusesWhatAFetchRefuses() throws {
        func code(_ request: ObjectFetchRequest) throws -> ErrorCode? {
            try self.fixture.ask(self.client, .explain(request)).error?.code
        }
        var request = try self.request("Person", sort: "rank", section: "name")
        #expect(try code(request) == .invalid)
        request = try self.request("Group")
        request.source = FetchSource(object: ObjectID(999), relationship: self.model.number("Party", "groups"))
        #expect(try code(request) == .notFound)
        #expect(try code(ObjectFetchRequest(entity: EntityNumber(99))) == .unknownEntity)
    }

    @Test func subtreesHaveASizeWhileSubscribed() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        let top = try #require(try fixture.write(client, [EngineFixture.insert("a")]).firstInserted)
        try fixture.write(client, [EngineFixture.insert("b", under: top), EngineFixture.insert("c", under: top)])
        let model = ManagedObjectModel.nestedList
        let item = try #require(model.entity(EngineFixture.item))
        let predicate = try FetchPredicate("SELF IN SUBTREE(\(top), children)", of: item, in: model)
        let request = ObjectFetchRequest(entity: item.number, predicate: predicate)
        func subtrees() throws -> [Explanation.Subtree] {
            guard let found = try fixture.ask(client, .explain(request)).explanation else { return [] }
            return found.subtrees
        }
        #expect(try subtrees() == [.init("below \(top) by parent", objects: nil)])
        try fixture.perform([client.subscribe(request)])
        #expect(try subtrees() == [.init("below \(top) by parent", objects: 2)])
    }

    /// A very long text is cut between two characters.
    @Test func longTextsAreCut() throws {
        let names = (0..<9_000).map { "\"é\($0)\"" }.joined(separator: ", ")
        let found = try self.explain(try self.request("Person", where: "name IN {\(names)}"))
        let text = try #require(self.text(found, "where"))
        #expect(text.utf8.count <= Limits.explanationTextBytesMax && text.hasSuffix("…"))
    }
}
