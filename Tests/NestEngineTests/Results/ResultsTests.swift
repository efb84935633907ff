import NestProtocol
import NestEngine
import NestModel
import Testing

/// The guarantees for results, one by one, with the model `ModelDraft.club`.
@Suite struct ResultsTests {
    private let model: ManagedObjectModel
    private let fixture: EngineFixture
    private let client: SimulatedClient

    init() throws {
        self.model = try ModelDraft.club.compile()
        self.fixture = try EngineFixture(model: self.model)
        self.client = try self.fixture.connect(session: 1)
    }

    private func insert(_ entity: String, _ values: [(String, AttributeValue)] = []) throws -> ObjectID {
        let assignments = values.map { PropertyAssignment(self.model.number(entity, $0.0), .value($0.1)) }
        let mutation = Mutation.insert(entity: self.model.number(entity), values: assignments, placements: [])
        return try #require(try self.fixture.write(self.client, [mutation]).firstInserted)
    }

    private func set(_ entity: String, _ id: ObjectID, _ property: String, _ value: AttributeValue) throws
        -> ResultsDiff?
    {
        let assignment = PropertyAssignment(self.model.number(entity, property), .value(value))
        return try self.diff(.update(.object(id), values: [assignment]))
    }

    /// Performs a mutation. Returns its diff, if there is one.
    private func diff(_ mutation: Mutation) throws -> ResultsDiff? {
        let (_, input) = self.client.request(.transaction(WriteTransaction(mutations: [mutation])))
        var diffs: [ResultsDiff] = []
        for case .push(let push, _) in try self.fixture.perform([input]) {
            guard case .diff(let body) = push.content else { continue }
            let count = try #require(self.client.subscriptions.values.first { $0.view == push.view }).projection.count
            diffs.append(
                try ByteReader.read(body) { (reader) throws(DecodingFailure) in try reader.diff(valueCount: count) }
            )
        }
        #expect(diffs.count <= 1)
        return diffs.first
    }

    private func subscribe(_ request: ObjectFetchRequest) throws {
        try self.fixture.perform([self.client.subscribe(request)])
    }

    private func rows(_ request: ObjectFetchRequest) -> [Row] {
        self.client.subscriptions[request]?.state?.sections[0].rows ?? []
    }

    private func projection(_ request: ObjectFetchRequest) -> [PropertyNumber] {
        self.client.subscriptions[request]?.projection ?? []
    }

    private func related(_ owner: ObjectID, _ entity: String, _ property: String, to rows: String) -> ObjectFetchRequest
    {
        ObjectFetchRequest(
            entity: self.model.number(rows),
            source: FetchSource(object: owner, relationship: self.model.number(entity, property))
        )
    }

    // MARK: Orders

    /// A row whose key changes without passing another row is updated, not moved. If it passes other rows, only it
    /// moves.
    @Test func aChangedKeyMovesARowOnlyPastOthers() throws {
        let ranks = [10, 20, 30, 40].map { AttributeValue.integer($0) }
        let ids = try ranks.map { try self.insert("Person", [("rank", $0)]) }
        let rank = self.model.number("Party", "rank")
        let request = ObjectFetchRequest(
            entity: self.model.number("Party"),
            projection: [.entity, rank],
            sort: [OrderingTerm(rank, isAscending: false)]
        )
        try self.subscribe(request)
        #expect(self.rows(request).map(\.id) == ids.reversed())
        let stays = try #require(try self.set("Person", ids[1], "rank", .integer(25)))
        #expect(stays.moves.isEmpty && stays.updates.map(\.path) == [RowPosition(0, 2)])
        let moves = try #require(try self.set("Person", ids[0], "rank", .integer(50)))
        #expect(moves.moves == [.init(from: RowPosition(0, 3), to: RowPosition(0, 0))] && moves.updates.count == 1)
        #expect(try self.set("Person", ids[0], "name", .string("Ann")) == nil, "the name is not in the projection")
        let kind = AttributeValue.integer(Int64(self.model.number("Person").rawValue))
        #expect(self.rows(request).first?.values == [kind, .integer(50)])
    }

    @Test func textSortsByBytesAndDecimalsSortNumerically() throws {
        let names = ["b", "é", "B", "ba", ""].map { AttributeValue.string($0) } + [.null]
        let dues = ["-1", "-1.5", "10", "9.99", "0"].map { AttributeValue.string($0) } + [.null]
        let ids = try zip(names, dues).map { try self.insert("Company", [("name", $0), ("dues", $1)]) }
        let name = self.model.number("Party", "name")
        let due = self.model.number("Party", "dues")
        func order(_ property: PropertyNumber, isAscending: Bool = true) throws -> [Int] {
            let request = ObjectFetchRequest(
                entity: self.model.number("Company"),
                projection: [property],
                sort: [OrderingTerm(property, isAscending: isAscending)]
            )
            let answer = try self.fixture.ask(self.client, .fetch(request, atLeast: Revision(0)))
            guard case .snapshot(_, let bodies, _) = answer else { return [] }
            let rows = try bodies.flatMap { body in
                try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in try reader.rows(valueCount: 1) }
            }
            return rows.compactMap { ids.firstIndex(of: $0.id) }
        }
        #expect(try order(name) == [5, 4, 2, 0, 3, 1])
        #expect(try order(name, isAscending: false) == [1, 3, 0, 2, 4, 5])
        #expect(try order(due) == [5, 1, 0, 4, 3, 2])
        #expect(try order(due, isAscending: false) == [2, 3, 4, 0, 1, 5])
    }

    // MARK: Many-to-many

    /// The reason says whether the row's object was deleted or only left the result.
    @Test func rowsLeaveAPairedResultWithAReason() throws {
        let group = try self.insert("Group")
        let people = try (0..<3).map { _ in try self.insert("Person") }
        let members = self.model.number("Group", "members")
        let request = self.related(group, "Group", "members", to: "Party")
        try self.subscribe(request)
        let entering = try self.diff(.setRelated(.object(group), members, people.map { .object($0) }))
        #expect(entering?.insertedRows.map(\.row.id) == people)
        let unmatched = try self.diff(.unrelate(.object(group), members, .object(people[0])))
        #expect(unmatched?.deletedRows == [.init(path: RowPosition(0, 0), id: people[0], reason: .unmatched)])
        let deleted = try self.diff(.delete(.object(people[2])))
        #expect(deleted?.deletedRows == [.init(path: RowPosition(0, 1), id: people[2], reason: .deleted)])
        // Relates from the other side, which has no order.
        let back = try self.diff(
            .relate(.object(people[0]), self.model.number("Party", "groups"), .object(group), .last)
        )
        #expect(back?.insertedRows.map(\.path) == [RowPosition(0, 1)])
        #expect(self.rows(request).map(\.id) == [people[1], people[0]])
    }

    /// Several requests of one batch change pairs and objects. Their diff is one, with the final values.
    @Test func changesOfPairsAndObjectsInABatchAreOneDiff() throws {
        let group = try self.insert("Group")
        let people = try (0..<3).map { _ in try self.insert("Person", [("name", .string("x"))]) }
        let members = self.model.number("Group", "members")
        let name = self.model.number("Party", "name")
        var request = self.related(group, "Group", "members", to: "Person")
        request.sort = [OrderingTerm(name)]
        request.projection = [name]
        _ = try self.diff(.setRelated(.object(group), members, [.object(people[0]), .object(people[1])]))
        try self.subscribe(request)
        func rename(_ id: ObjectID, _ text: String) -> Mutation {
            .update(.object(id), values: [PropertyAssignment(name, .value(.string(text)))])
        }
        let steps: [Mutation] = [
            rename(people[0], "z"), .unrelate(.object(group), members, .object(people[0])),
            .relate(.object(group), members, .object(people[2]), .first), rename(people[2], "a"),
            .relate(.object(group), members, .object(people[0]), .last), rename(people[0], "b"), rename(people[2], "m"),
        ]
        let inputs = steps.map { self.client.request(.transaction(WriteTransaction(mutations: [$0]))).input }
        try self.fixture.perform(inputs)
        #expect(self.rows(request).map(\.id) == [people[0], people[2], people[1]])
        #expect(self.rows(request).map(\.values) == [[.string("b")], [.string("m")], [.string("x")]])
        #expect(self.client.diffs == 1)
    }

    /// An index is resolved with the live order of the pairs, which is made for a long list if there is none.
    @Test func indexesAreResolvedAmongPairs() throws {
        let group = try self.insert("Group")
        let members = self.model.number("Group", "members")
        let inserts = (0..<5_000).map { _ in
            Mutation.insert(entity: self.model.number("Company"), values: [], placements: [])
        }
        var ids = try self.fixture.write(self.client, inserts).insertedIDs
        try self.fixture.write(self.client, [.setRelated(.object(group), members, ids.map { .object($0) })])
        func relate(_ id: ObjectID, at index: Int) throws {
            try self.fixture.write(self.client, [.relate(.object(group), members, .object(id), .at(index))])
            ids.removeAll { $0 == id }
            ids.insert(id, at: index)
        }
        try relate(ids[0], at: 4_500)
        try relate(ids[4_900], at: 3)
        try relate(ids[10], at: 12)
        try relate(try self.insert("Person"), at: 5_000)
        try relate(ids[7], at: 0)
        let request = self.related(group, "Group", "members", to: "Party")
        try self.subscribe(request)
        #expect(self.rows(request).map(\.id) == ids)
        let last = try #require(ids.last)
        let mutation = Mutation.relate(.object(group), members, .object(last), .at(5_001))
        let reply = try self.fixture.ask(self.client, .transaction(WriteTransaction(mutations: [mutation])))
        #expect(reply.error?.code == .indexOutOfRange)
    }

    /// Objects of another entity in the same list are not rows, but are renumbered with the rows. This holds live and
    /// when a client resumes from the journal.
    @Test func objectsOfOtherEntitiesAreNotRows() throws {
        let person = try self.insert("Person")
        let tasks = self.model.number("Party", "tasks")
        let writer = try self.fixture.connect(session: 2)
        let request = self.related(person, "Party", "tasks", to: "Memo")
        var first: ObjectID?
        func crowd(_ count: Int) throws {
            for number in 0..<count {
                let kind = self.model.number(number.isMultiple(of: 2) ? "Memo" : "Task")
                let insert = Mutation.insert(entity: kind, values: [], placements: [])
                let id = try #require(try self.fixture.write(writer, [insert]).firstInserted)
                let place = first.map { Place.after(.object($0)) } ?? .last
                try self.fixture.write(writer, [.relate(.object(person), tasks, .object(id), place)])
                first = first ?? id
            }
        }
        try crowd(3)
        try self.subscribe(request)
        for _ in 0..<4 {
            try crowd(45)
            #expect(
                try self.rows(request)
                    == NaiveResults(self.fixture.store).sections(request, self.projection(request))[0].rows
            )
            try self.fixture.perform([.disconnected(self.client.connection)])
            try crowd(45)
            // A deleted row is named by its old index.
            let last = try #require(self.rows(request).last).id
            try self.fixture.write(writer, [.delete(.object(last))])
            try self.fixture.restart()
            try self.fixture.perform([
                writer.connect(as: self.fixture.newConnection()),
                self.client.connect(as: self.fixture.newConnection()),
                self.client.subscribe(request, resuming: true),
            ])
            #expect(
                try self.rows(request)
                    == NaiveResults(self.fixture.store).sections(request, self.projection(request))[0].rows
            )
        }
    }

    // MARK: Requests

    @Test func invalidRequestsAreRefusedWithACode() throws {
        let group = try self.insert("Group")
        let company = try self.insert("Company")
        func code(_ request: ObjectFetchRequest) throws -> ErrorCode? {
            try self.fixture.ask(self.client, .fetch(request, atLeast: Revision(0))).error?.code
        }
        let party = self.model.number("Party")
        let person = self.model.number("Person")
        let born = self.model.number("Person", "born")
        #expect(try code(ObjectFetchRequest(entity: EntityNumber(99))) == .unknownEntity)
        // The pairs of a relationship have an entity number, but are not an entity.
        let join = try #require(
            self.model.entity(named: "Group")?.relationship(self.model.number("Group", "members"))?.join
        )
        #expect(try code(ObjectFetchRequest(entity: join)) == .unknownEntity)
        #expect(try code(ObjectFetchRequest(entity: party)) == nil)
        #expect(try code(ObjectFetchRequest(entity: party, projection: [born])) == .unknownProperty)
        #expect(try code(ObjectFetchRequest(entity: person, projection: [born, .entity])) == nil)
        #expect(try code(ObjectFetchRequest(entity: party, sort: [OrderingTerm(born)])) == .unknownProperty)
        #expect(try code(ObjectFetchRequest(entity: party, sort: [OrderingTerm(.entity)])) == .unknownProperty)
        let tasks = self.model.number("Party", "tasks")
        #expect(try code(ObjectFetchRequest(entity: party, sort: [OrderingTerm(tasks)])) == .unknownProperty)
        let leads = self.model.number("Person", "leads")
        #expect(try code(ObjectFetchRequest(entity: person, sort: [OrderingTerm(leads)])) == .unknownProperty)
        #expect(try code(self.related(group, "Group", "members", to: "Party")) == nil)
        #expect(try code(self.related(group, "Group", "members", to: "Person")) == nil)
        #expect(try code(self.related(group, "Group", "members", to: "Task")) == .invalid)
        #expect(try code(self.related(company, "Person", "friends", to: "Person")) == .unknownProperty)
        #expect(try code(self.related(group, "Group", "leader", to: "Person")) == .unknownProperty)
        #expect(try code(self.related(ObjectID(999), "Group", "members", to: "Party")) == .notFound)
    }

    /// A subtree consists of objects of one table. A relationship to another table forms no subtree.
    @Test func subtreesAcrossTablesAreRefused() throws {
        let person = try self.insert("Person")
        let tasks = Int64(self.model.number("Party", "tasks").rawValue)
        let request = ObjectFetchRequest(
            entity: self.model.number("Party"),
            predicate: FetchPredicate(
                Comparison(
                    path: PropertyPath(leaf: .object),
                    operator: .inSubtree,
                    values: [.reference(person), .integer(tasks)]
                )
            )
        )
        let reply = try self.fixture.ask(self.client, .fetch(request, atLeast: Revision(0)))
        #expect(reply.error?.code == .invalidPredicate)
    }

    /// A transaction that finds all objects changes nothing and reports that. It is evaluated again if its key is used
    /// again.
    @Test func findOrCreateReturnsTheFoundObjects() throws {
        let name = self.model.number("Party", "name")
        func findOrCreate(_ text: String) -> Mutation {
            .findOrCreate(
                entity: self.model.number("Person"),
                match: [PropertyAssignment(name, .value(.string(text)))],
                values: [],
                placements: []
            )
        }
        let key = Identifier128(high: 1, low: 1)
        let transaction = WriteTransaction(key: key, mutations: [findOrCreate("Ann")])
        func receipt(_ transaction: WriteTransaction) throws -> Receipt? {
            try self.fixture.ask(self.client, .transaction(transaction)).receipt
        }
        let created = try #require(try receipt(transaction))
        #expect(created.isChanged && created.insertedCount == 1)
        #expect(try receipt(transaction)?.isReplayed == true)
        var again = transaction
        again.key = Identifier128(high: 1, low: 2)
        for _ in 0..<2 {
            let found = try #require(try receipt(again))
            #expect(!found.isChanged && !found.isReplayed && found.revision == created.revision)
            #expect(found.resultIDs == created.resultIDs && found.insertedIDs.isEmpty)
        }
        let both = try #require(try receipt(WriteTransaction(mutations: [findOrCreate("Ann"), findOrCreate("Bo")])))
        #expect(both.isChanged && both.results.map(\.isFound) == [true, false])
    }
}
