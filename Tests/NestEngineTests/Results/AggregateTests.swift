import NestEngine
import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// Functions of related objects, as columns and in predicates, with the model `ModelDraft.workshop`.
@Suite struct AggregateTests {
    private let model: ManagedObjectModel
    private var fixture: EngineFixture
    private var client: SimulatedClient

    init() throws {
        self.model = try ModelDraft.workshop.compile()
        self.fixture = try EngineFixture(model: self.model)
        self.client = try self.fixture.connect(session: 1)
    }

    /// Replaces the engine by one with other limits.
    private mutating func limit(rows: Int = Limits.aggregatedRowsPerTurnMax, bytes: Int = Limits.aggregateBytesMax)
        throws
    {
        self.fixture = try EngineFixture(model: self.model, aggregatedRowsPerTurnMax: rows, aggregateBytesMax: bytes)
        self.client = try self.fixture.connect(session: 1)
    }

    private func runBacklog() throws {
        for _ in 0..<20 where self.fixture.engine.hasBacklog || !self.fixture.reads.isEmpty {
            try self.fixture.perform([])
        }
    }

    private func request(_ columns: String...) throws -> ObjectFetchRequest {
        let user = try #require(self.model.entity(named: "User"))
        let paths = try columns.map { try PropertyPath($0, of: user, in: self.model) }
        let projection = paths.indices.map { PropertyNumber.computed($0) }
        return ObjectFetchRequest(entity: user.number, projection: projection, columns: paths)
            .canonical(in: self.model)
    }

    private func insertUser() throws -> ObjectID {
        let rank = PropertyAssignment(self.model.number("User", "rank"), .value(.integer(1)))
        let insertion = Mutation.insert(entity: self.model.number("User"), values: [rank], placements: [])
        return try #require(try self.fixture.write(self.client, [insertion]).firstInserted)
    }

    private func size(_ size: Int64) -> PropertyAssignment {
        PropertyAssignment(self.model.number("Entry", "size"), .value(.integer(size)))
    }

    private func entry(of user: ObjectID, _ size: Int64) -> Mutation {
        let owner = PropertyAssignment(self.model.number("Entry", "user"), .reference(.object(user)))
        return .insert(entity: self.model.number("Entry"), values: [owner, self.size(size)], placements: [])
    }

    private func values(_ request: ObjectFetchRequest) throws -> [AttributeValue] {
        try #require(self.client.subscriptions[request]?.state?.sections.first?.rows.first?.values)
    }

    /// Few values are read again after a change, many are kept in order: the least and greatest follow on both sides.
    @Test func extremesFollowWhenTheyLeave() throws {
        let request = try self.request("entries.@min.size", "entries.@max.size", "entries.@sum.size")
        let user = try self.insertUser()
        try self.fixture.perform([self.client.subscribe(request)])
        #expect(try self.values(request) == [.null, .null, .integer(0)])
        var entries: [(id: ObjectID, size: Int64)] = []
        for size in Int64(1)...80 {
            let receipt = try self.fixture.write(self.client, [self.entry(of: user, size * 37 % 83)])
            entries.append((try #require(receipt.firstInserted), size * 37 % 83))
        }
        entries.sort { $0.size < $1.size }
        while entries.count > 1 {
            let gone = entries.remove(at: entries.count.isMultiple(of: 2) ? 0 : entries.count - 1)
            try self.fixture.write(self.client, [.delete(.object(gone.id))])
            let sum = entries.reduce(0) { $0 + $1.size }
            let expected = [entries[0].size, entries[entries.count - 1].size, sum].map { AttributeValue.integer($0) }
            #expect(try self.values(request) == expected)
        }
        let last = entries[0].id
        try self.fixture.write(self.client, [.update(.object(last), values: [self.size(-5)])])
        #expect(try self.values(request) == [.integer(-5), .integer(-5), .integer(-5)])
        #expect(self.client.subscriptions[request]?.state?.sections.first?.rows.first?.id == user)
    }

    /// A sum beyond 64 bits ends the subscriptions that read it and no others; the commit succeeds.
    @Test func aSumBeyondItsTypeEndsTheSubscription() throws {
        self.client.expectedEnds = [.valueTooLarge]
        let sums = try self.request("entries.@sum.size")
        let others = try self.request("entries.@max.size", "entries.@avg.size")
        let user = try self.insertUser()
        try self.fixture.write(self.client, [self.entry(of: user, .max)])
        try self.fixture.perform([self.client.subscribe(sums), self.client.subscribe(others)])
        #expect(try self.values(sums) == [.integer(.max)])
        let receipt = try self.fixture.write(self.client, [self.entry(of: user, 1)])
        #expect(self.client.ended.map(\.code) == [.valueTooLarge])
        #expect(self.client.subscriptions[sums] == nil)
        #expect(try self.values(others) == [.integer(.max), .string("4611686018427387904")])
        let refusal = try self.fixture.ask(self.client, .fetch(sums, atLeast: Revision(0))).error
        #expect(refusal?.code == .valueTooLarge && refusal?.object == user)
        // When it has room again, so has the request.
        let entry = try #require(receipt.firstInserted)
        try self.fixture.write(self.client, [.update(.object(entry), values: [self.size(-1)])])
        try self.fixture.perform([self.client.subscribe(sums)])
        #expect(try self.values(sums) == [.integer(.max - 1)])
    }

    /// Commits do not wait for the values of a large owner: its result lags, and is read in the background.
    @Test mutating func anOwnerOfManyValuesIsReadInTheBackground() throws {
        try self.limit(rows: 20)
        let request = try self.request("entries.@sum.size", "entries.@max.size")
        let user = try self.insertUser()
        for size in Int64(1)...30 { try self.fixture.write(self.client, [self.entry(of: user, size)]) }
        try self.fixture.perform([self.client.subscribe(request)])
        try self.runBacklog()
        #expect(try self.values(request) == [.integer(465), .integer(30)])
        try self.fixture.write(self.client, [self.entry(of: user, 100)])
        try self.runBacklog()
        #expect(try self.values(request) == [.integer(565), .integer(100)])
        #expect(self.client.ended.isEmpty)
    }

    @Test mutating func functionsAreReadAgainWhenTheirMemoryIsUsedUp() throws {
        try self.limit(bytes: 0)
        let request = try self.request("entries.@sum.size", "entries.@min.size")
        let user = try self.insertUser()
        try self.fixture.perform([self.client.subscribe(request)])
        for size in Int64(1)...40 { try self.fixture.write(self.client, [self.entry(of: user, size)]) }
        #expect(try self.values(request) == [.integer(820), .integer(1)])
    }

    @Test func functionsOfOutlinesAreLimited() throws {
        let entry = try #require(self.model.entity(named: "Entry"))
        let top = try #require(try self.fixture.write(self.client, [self.entry(0)]).firstInserted)
        let upper = try #require(try self.fixture.write(self.client, [self.entry(1, under: top)]).firstInserted)
        for _ in 0..<2 {
            let children = (0..<5_001).map { _ in self.entry(1, under: upper) }
            try self.fixture.write(self.client, children)
        }
        let request = try self.outline(below: top, entry)
        try self.fixture.perform([self.client.subscribe(request)])
        try self.runBacklog()
        #expect(self.client.refusal?.code == .limitExceeded)
    }

    private func entry(_ size: Int64, under parent: ObjectID? = nil) -> Mutation {
        let place = parent.map {
            Placement(relationship: self.model.number("Entry", "parent"), owner: .object($0), place: .last)
        }
        return .insert(
            entity: self.model.number("Entry"),
            values: [self.size(size)],
            placements: place.map { [$0] } ?? []
        )
    }

    private func outline(below top: ObjectID, _ entry: EntityDescription) throws -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: entry.number,
            source: FetchSource(object: top, relationship: self.model.number("Entry", "children")),
            projection: [.computed(0)],
            columns: [try PropertyPath("children.@sum.size", of: entry, in: self.model)],
            window: .range(offset: 0, limit: 10),
            outline: FetchOutline(.all)
        ).canonical(in: self.model)
    }

    @Test func rowsOfOutlinesHaveFunctionsThatFollow() throws {
        self.client.expectedEnds = [.valueTooLarge]
        let entry = try #require(self.model.entity(named: "Entry"))
        func child(of parent: ObjectID?, _ size: Int64) throws -> ObjectID {
            try #require(try self.fixture.write(self.client, [self.entry(size, under: parent)]).firstInserted)
        }
        let top = try child(of: nil, 0)
        let upper = try child(of: top, 1)
        let lower = try child(of: upper, 4)
        let request = try self.outline(below: top, entry)
        try self.fixture.perform([self.client.subscribe(request)])
        func sums() throws -> [AttributeValue] {
            try #require(self.client.subscriptions[request]?.state).sections[0].rows.map { $0.values[0] }
        }
        #expect(try sums() == [.integer(4), .integer(0)])
        _ = try child(of: upper, 5)
        #expect(try sums() == [.integer(9), .integer(0), .integer(0)])
        try self.fixture.write(self.client, [.update(.object(lower), values: [self.size(-4)])])
        #expect(try sums() == [.integer(1), .integer(0), .integer(0)])
        _ = try child(of: upper, .max)
        #expect(self.client.ended.map(\.code) == [.valueTooLarge])
    }

    @Test func predicatesOfFunctionsFollow() throws {
        self.client.expectedEnds = [.valueTooLarge]
        let user = try #require(self.model.entity(named: "User"))
        let predicate = try FetchPredicate("entries.@sum.size > 4 AND entries.@min.size != 3", of: user, in: self.model)
        let request = ObjectFetchRequest(entity: user.number, predicate: predicate).canonical(in: self.model)
        let (one, other) = (try self.insertUser(), try self.insertUser())
        try self.fixture.perform([self.client.subscribe(request)])
        func ids() throws -> [ObjectID] {
            try #require(self.client.subscriptions[request]?.state).sections.flatMap { $0.rows.map(\.id) }
        }
        #expect(try ids() == [])
        let entry = try #require(try self.fixture.write(self.client, [self.entry(of: one, 5)]).firstInserted)
        try self.fixture.write(self.client, [self.entry(of: other, 3), self.entry(of: other, 4)])
        #expect(try ids() == [one])
        try self.fixture.write(self.client, [self.entry(of: other, -2)])
        #expect(try ids() == [one, other])
        try self.fixture.write(self.client, [.delete(.object(entry))])
        #expect(try ids() == [other])
        try self.fixture.write(self.client, [self.entry(of: other, .max)])
        #expect(self.client.ended.map(\.code) == [.valueTooLarge])
    }

    @Test func predicatesOfSubqueriesHaveNoFunctions() throws {
        let user = try #require(self.model.entity(named: "User"))
        let entry = try #require(self.model.entity(named: "Entry"))
        let inner = Comparison(
            path: try PropertyPath("children.@sum.size", of: entry, in: self.model),
            operator: .greater,
            values: [.integer(1)]
        )
        let path = PropertyPath(leaf: .countWhere(self.model.number("User", "entries"), FetchPredicate(inner)))
        let comparison = Comparison(path: path, operator: .greater, values: [.integer(0)])
        let request = ObjectFetchRequest(entity: user.number, predicate: FetchPredicate(comparison))
        let error = try self.fixture.ask(self.client, .fetch(request, atLeast: Revision(0))).error
        #expect(error?.code == .invalidPredicate)
        let texts = [
            ("SUBQUERY(entries, $e, $e.children.@sum.size > 1).@count > 0", 36, "@sum cannot be inside a SUBQUERY"),
            ("ANY entries.children.@sum.size > 1", 27, "@sum is of the objects of one to-many relationship"),
            ("ANY entries.@sum.size > 1", 5, "entries.@sum.size leads to one"),
        ]
        for (text, column, message) in texts {
            let error = #expect(throws: PredicateSyntaxError.self) {
                try FetchPredicate(text, of: user, in: self.model)
            }
            let isFault = error?.column == column && error?.message.hasPrefix(message) == true
            #expect(isFault, "\(text): \(String(describing: error))")
        }
    }

    @Test func faultsSayWhatToWrite() throws {
        let user = try #require(self.model.entity(named: "User"))
        let faults = [
            ("entries.@sum", 1, "@sum needs an attribute of Entry: write it after a point"),
            ("entries.@sum.title", 14, "Entry.title is string: @sum is for numbers"),
            ("entries.@max.parent", 14, "parent is a relationship: @max is of an attribute of Entry"),
            ("entries.@max.size.x", 19, "entries.@max.size is not a relationship: nothing can follow it"),
            ("boss.@max.rank", 6, "@max is of the objects of a to-many relationship"),
            ("entries.@median.size", 9, "there is no @median: only @count, @sum, @min, @max, @avg"),
        ]
        for (text, column, message) in faults {
            let error = #expect(throws: PredicateSyntaxError.self) {
                try PropertyPath(text, of: user, in: self.model)
            }
            let isFault = error?.column == column && error?.message.hasPrefix(message) == true
            #expect(isFault, "\(text): \(String(describing: error))")
        }
    }
}
