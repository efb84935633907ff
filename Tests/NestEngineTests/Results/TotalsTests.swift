import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Totals of results and of their sections, with the model `ModelDraft.workshop`.
@Suite struct TotalsTests {
    private let model: ManagedObjectModel
    private let fixture: EngineFixture
    private let client: SimulatedClient
    private let entry: EntityDescription

    init() throws {
        self.model = try ModelDraft.workshop.compile()
        self.fixture = try EngineFixture(model: self.model)
        self.client = try self.fixture.connect(session: 1)
        self.entry = try #require(self.model.entity(named: "Entry"))
    }

    private func request(
        _ totals: String,
        sort: String = "",
        isSectioned: Bool = false,
        window: FetchWindow? = nil
    ) throws -> ObjectFetchRequest {
        var request = ObjectFetchRequest(entity: self.entry.number, window: window)
        request.projection = [self.model.number("Entry", "title")]
        request.totals = try [FetchTotal](totals, of: self.entry, in: self.model)
        if sort != "" { request.sort = try [OrderingTerm](sort, of: self.entry, in: self.model) }
        if isSectioned, case .path(let path)? = request.sort.first?.key {
            request.section = SectionKey(.value, of: path)
        }
        return request.canonical(in: self.model)
    }

    private func values(_ title: String, _ size: Int64) -> [PropertyAssignment] {
        [
            PropertyAssignment(self.model.number("Entry", "title"), .value(.string(title))),
            PropertyAssignment(self.model.number("Entry", "size"), .value(.integer(size))),
        ]
    }

    @discardableResult
    private func insert(_ title: String, _ size: Int64) throws -> ObjectID {
        let mutation = Mutation.insert(entity: self.entry.number, values: self.values(title, size), placements: [])
        return try #require(try self.fixture.write(self.client, [mutation]).firstInserted)
    }

    private func state(_ request: ObjectFetchRequest) throws -> SectionedSnapshot {
        try #require(self.client.subscriptions[request]?.state)
    }

    @Test func totalsFollowTheRowsOfTheirRevision() throws {
        let request = try self.request("count, sum(size), min(size), max(size), avg(size)")
        try self.fixture.perform([self.client.subscribe(request)])
        #expect(try self.state(request).totals == [.integer(0), .integer(0), .null, .null, .null])
        let first = try self.insert("a", 5)
        try self.insert("b", -2)
        #expect(
            try self.state(request).totals
                == [.integer(2), .integer(3), .integer(-2), .integer(5), .string("1.5")]
        )
        try self.fixture.write(self.client, [.delete(.object(first))])
        #expect(
            try self.state(request).totals
                == [.integer(1), .integer(-2), .integer(-2), .integer(-2), .string("-2")]
        )
        #expect(try self.state(request).sections.map(\.totals) == [[]])
    }

    @Test func sectionsHaveTheirTotalsAlsoWhenRowsMove() throws {
        let request = try self.request("count, sum(size)", sort: "title", isSectioned: true)
        try self.fixture.perform([self.client.subscribe(request)])
        try self.insert("b", 1)
        let moved = try self.insert("b", 2)
        try self.insert("c", 4)
        #expect(
            try self.state(request).sections.map(\.totals) == [
                [.integer(2), .integer(3)], [.integer(1), .integer(4)],
            ]
        )
        try self.fixture.write(self.client, [.update(.object(moved), values: self.values("a", 8))])
        let state = try self.state(request)
        #expect(state.sections.map(\.key) == [.string("a"), .string("b"), .string("c")])
        #expect(state.sections.map { $0.totals[1] } == [.integer(8), .integer(1), .integer(4)])
        #expect(state.totals == [.integer(3), .integer(13)])
    }

    /// A window gets the totals of all rows, and of the whole sections that it shows, though none of its rows change.
    @Test func aWindowGetsTotalsOfRowsThatItDoesNotShow() throws {
        for (title, size) in [("a", 1), ("a", 2), ("a", 4), ("b", 8)] as [(String, Int64)] {
            try self.insert(title, size)
        }
        let request = try self.request(
            "sum(size)",
            sort: "title",
            isSectioned: true,
            window: .range(offset: 0, limit: 1)
        )
        try self.fixture.perform([self.client.subscribe(request)])
        #expect(try self.state(request).totals == [.integer(15)])
        #expect(try self.state(request).sections.map(\.totals) == [[.integer(7)]])
        let diffs = self.client.diffs
        try self.insert("a", 16)
        try self.insert("c", 32)
        #expect(try self.state(request).totals == [.integer(63)])
        #expect(try self.state(request).sections.map(\.totals) == [[.integer(23)]])
        #expect(self.client.diffs == diffs && self.client.totalsUpdates == 2)
        #expect(try self.state(request).revision == self.fixture.store.head)
    }

    /// A blocked connection gets the newest totals when it has drained, and a returning one those of its state.
    @Test func laggingAndReturningClientsGetTheNewestTotals() throws {
        let request = try self.request("sum(size)", window: .range(offset: 0, limit: 1))
        try self.insert("a", 1)
        try self.fixture.perform([self.client.subscribe(request)])
        let other = try self.fixture.connect(session: 2)
        try self.fixture.perform([self.client.block()])
        for size in Int64(2)...5 {
            let mutation = Mutation.insert(
                entity: self.entry.number,
                values: self.values("a", size),
                placements: []
            )
            try self.fixture.write(other, [mutation])
        }
        #expect(try self.state(request).totals == [.integer(1)])
        try self.fixture.perform([self.client.drain()])
        #expect(try self.state(request).totals == [.integer(15)])
        try self.fixture.perform([.disconnected(self.client.connection)])
        let mutation = Mutation.insert(entity: self.entry.number, values: self.values("a", 6), placements: [])
        try self.fixture.write(other, [mutation])
        try self.fixture.perform([self.client.connect(as: ConnectionID(77))] + self.client.resumeAll())
        #expect(try self.state(request).totals == [.integer(21)])
    }

    @Test func aTotalBeyondItsTypeEndsTheSubscription() throws {
        self.client.expectedEnds = [.valueTooLarge]
        let sum = try self.request("sum(size)")
        let greatest = try self.request("max(size)")
        try self.insert("a", .max)
        try self.fixture.perform([self.client.subscribe(sum), self.client.subscribe(greatest)])
        #expect(try self.state(sum).totals == [.integer(.max)])
        let over = try self.insert("b", 1)
        #expect(self.client.ended.map(\.code) == [.valueTooLarge])
        #expect(try self.state(greatest).totals == [.integer(.max)])
        #expect(try self.fixture.ask(self.client, .fetch(sum, atLeast: Revision(0))).error?.code == .valueTooLarge)
        try self.fixture.perform([self.client.subscribe(sum)])
        #expect(self.client.refusal?.code == .valueTooLarge && self.client.subscriptions[sum] == nil)
        try self.fixture.write(self.client, [.delete(.object(over))])
        try self.fixture.perform([self.client.subscribe(sum)])
        #expect(try self.state(sum).totals == [.integer(.max)])
    }

    @Test func aChangeToOtherTotalsIsASnapshot() throws {
        let old = try self.request("sum(size)", window: .range(offset: 0, limit: 2))
        let scrolled = try self.request("sum(size)", window: .range(offset: 1, limit: 2))
        let other = try self.request("min(size)", window: .range(offset: 1, limit: 2))
        for size in Int64(1)...4 { try self.insert("a", size) }
        try self.fixture.perform([self.client.subscribe(old)])
        for (from, to, first, total) in [
            (old, scrolled, FirstState.difference, AttributeValue.integer(10)),
            (scrolled, other, .snapshot, .integer(1)),
        ] {
            let view = try #require(self.client.subscriptions[from]?.view)
            let (id, input) = self.client.request(.resubscribe(view: view, to))
            self.client.pendingChanges[id] = (from, to)
            try self.fixture.perform([input])
            guard case .subscribed(_, let found, _, _)? = self.client.replies[id] else {
                Issue.record("no answer")
                continue
            }
            #expect(found == first)
            #expect(try self.state(to).totals == [total])
        }
    }

    @Test func totalsOfTooManySectionsAreRefused() throws {
        let text = String(repeating: "x", count: 60_000)
        for index in 0..<9 { try self.insert("\(index)\(text)", 1) }
        let totals = "min(title)"
        let whole = try self.request(totals, sort: "title", isSectioned: true)
        try self.fixture.perform([self.client.subscribe(whole)])
        #expect(self.client.refusal?.code == .limitExceeded)
        let window = try self.request(totals, sort: "title", isSectioned: true, window: .range(offset: 0, limit: 3))
        try self.fixture.perform([self.client.subscribe(window)])
        #expect(try self.state(window).sections.count == 3)
    }

    @Test func totalsAreCheckedAgainstTheModel() throws {
        func code(_ totals: [FetchTotal], outline: Bool = false) throws -> ErrorCode? {
            let request = ObjectFetchRequest(entity: self.entry.number, totals: totals)
            return try self.fixture.ask(self.client, .fetch(request, atLeast: Revision(0))).error?.code
        }
        let title = PropertyPath(leaf: .attribute(self.model.number("Entry", "title")))
        let user = PropertyPath(steps: [self.model.number("Entry", "user")], leaf: .object)
        #expect(try code([.function(.sum, title)]) == .invalid)
        #expect(try code([.function(.maximum, user)]) == .invalid)
        #expect(
            try code([.function(.maximum, PropertyPath(leaf: .attribute(PropertyNumber(999))))]) == .unknownProperty
        )
        #expect(try code([.function(.maximum, title), .count]) == nil)
    }

    @Test func textsOfTotalsAreReadAndPrinted() throws {
        let totals = try [FetchTotal](" count,sum(size) , max( user.rank )", of: self.entry, in: self.model)
        #expect(totals.text(of: self.entry, in: self.model) == "count,sum(size),max(user.rank)")
        for (text, column, message) in [
            ("sum(title)", 5, "title is string: sum is for numbers"),
            ("count, median(size)", 8, "a total is count or one of sum(…), min(…), max(…), avg(…)"),
            ("max(user)", 5, "user is an object: a total is of an attribute"),
            ("sum(nothing)", 5, "Entry has no property 'nothing'"),
        ] {
            let error = #expect(throws: PredicateSyntaxError.self) {
                try [FetchTotal](text, of: self.entry, in: self.model)
            }
            let isFault = error?.column == column && error?.message.hasPrefix(message) == true
            #expect(isFault, "\(text): \(String(describing: error))")
        }
    }
}
