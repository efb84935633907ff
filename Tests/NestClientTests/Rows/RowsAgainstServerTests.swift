import NestClient
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// Rows and changes that are written by name, against a real server in this process.
    @MainActor struct RowsAgainstServerTests {
        struct ToDo: Decodable, RowDecodable, Identifiable, Equatable {
            var id: ObjectID
            var title: String
            var note: String?
            var done: Bool
        }

        private static let properties = ["title", "note", "done"]

        /// What another writer does: inserts, changes, moves and deletes children of the root.
        private static func write(_ client: NestClient, _ item: NamedEntity, _ random: inout SeededRandom) async throws
        {
            let rows = try await client.fetch(item.request(where: "parent == 1", sort: "order"))
            let context = ObjectContext(client)
            for _ in 0..<(1 + random.below(3)) {
                guard let row = rows.randomElement(using: &random), !random.oneIn(4) else {
                    try context.insert(
                        item,
                        ["title": "row \(random.below(1_000))", "note": random.oneIn(2) ? String?.none : "a note"],
                        under: ObjectID(1),
                        at: random.oneIn(2) ? .first : .last
                    )
                    continue
                }
                switch random.below(4) {
                case 0: try context.set(row, of: item, ["done": random.oneIn(2)])
                case 1: try context.set(row, of: item, ["title": "row \(random.below(1_000))"])
                case 2: try context.move(row, of: item, under: ObjectID(1), at: random.oneIn(2) ? .first : .last)
                default:
                    context.delete(row)
                    try await context.save()
                    return
                }
            }
            try await context.save()
        }

        /// After every change the typed rows are those that decoding the received state anew would make, while another
        /// client writes and the window scrolls.
        @Test(arguments: Seeds.range(0..<3)) func typedRowsFollowEveryChange(seed: UInt64) async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let item = try await client.entity("Item")
                    let list = try item.request(where: "parent == 1", sort: "order", properties: Self.properties)
                    var random = SeededRandom(seed: seed &+ 1)
                    var offset = 0
                    let writing = Task {
                        var random = SeededRandom(seed: seed)
                        try await NestClient.withClient(Fixtures.configuration(port)) { writer in
                            for _ in 0..<60 { try await Self.write(writer, item, &random) }
                            let context = ObjectContext(writer)
                            try context.insert(item, ["title": "the end"], under: ObjectID(1))
                            try await context.save()
                        }
                    }
                    var count = 0
                    try await client.withFetchedResults(list, as: ToDo.self, verifyDigest: true) { results in
                        for try await change in results {
                            let state = results.results.state
                            let expected = try state.sections.flatMap(\.rows).map { try ToDo(row: list.named($0)) }
                            #expect(Array(change.rows) == expected, "seed \(seed)")
                            #expect(change.rows.revision == state.revision && change.rows.total >= change.rows.count)
                            for event in change.events {
                                switch event {
                                case .insert(let toDo, let path), .move(let toDo, _, let path),
                                    .update(let toDo, _, let path):
                                    #expect(change.rows[path] == toDo, "seed \(seed)")
                                case .delete, .insertSection, .deleteSection: break
                                }
                                count += 1
                            }
                            let isWritten = try await client.count(item.request(where: "title == 'the end'")) == 1
                            if isWritten, change.changesRows { return }
                            if random.oneIn(3) || isWritten {
                                offset = (offset + 1) % 4
                                try await results.setWindow(random.oneIn(4) ? nil : .range(offset: offset, limit: 5))
                            }
                        }
                    }
                    #expect(count > 0)
                    try await writing.value
                    let fetched = try await client.fetch(list, as: ToDo.self)
                    #expect(try await client.count(list) == fetched.count)
                }
            }
        }

        @Test func aRowThatCannotBeDecodedEndsTheIteration() async throws {
            struct Strict: Decodable, RowDecodable { var note: String }
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let item = try await client.entity("Item")
                    let context = ObjectContext(client)
                    try context.insert(item, ["title": "without a note"], under: ObjectID(1))
                    try await context.save()
                    let list = try item.request(where: "parent == 1", properties: ["note"])
                    await #expect(throws: DecodingError.self) { try await client.fetch(list, as: Strict.self) }
                    await #expect(throws: DecodingError.self) {
                        try await client.withFetchedResults(list, as: Strict.self) { for try await _ in $0 {} }
                    }
                }
            }
        }

        /// A view that was left in the middle is iterated again, and one whose row could not be decoded goes on.
        @Test func iteratingMayBeginAgain() async throws {
            struct Strict: Decodable, RowDecodable, Equatable { var note: String }
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let item = try await client.entity("Item")
                    let context = ObjectContext(client)
                    let first = try context.insert(item, ["title": "a", "note": "1"], under: ObjectID(1))
                    try context.insert(item, ["title": "b", "note": "2"], under: ObjectID(1))
                    try await context.save()
                    let list = try item.request(where: "parent == 1", sort: "order", properties: ["note"])
                    try await client.withFetchedResults(list, as: Strict.self) { results in
                        for try await change in results where change.changesRows { break }
                        context.delete(first)
                        try await context.save()
                        for try await change in results where change.changesRows {
                            #expect(change.rows.map(\.note) == ["2"])
                            guard case .delete(let gone, _)? = change.events.first else {
                                Issue.record("\(change.events)")
                                return
                            }
                            #expect(gone.note == "1")
                            break
                        }
                        // This row has no note.
                        let wrong = try context.insert(item, ["title": "c"], under: ObjectID(1), at: .first)
                        try await context.save()
                        var changes = results.makeAsyncIterator()
                        await #expect(throws: DecodingError.self) {
                            while try await changes.next() != nil {}
                        }
                        try context.set(wrong, of: item, ["note": "3"])
                        try await context.save()
                        func next() async throws -> RowsChange<Strict>? {
                            while let change = try await changes.next() { if change.changesRows { return change } }
                            return nil
                        }
                        let mended = try #require(try await next())
                        #expect(mended.rows.map(\.note) == ["3", "2"] && mended.events.isEmpty)
                        // An iterator that has seen rows, fails, and sees the wrong one go.
                        try context.set(wrong, of: item, ["note": AttributeValue.null])
                        try await context.save()
                        await #expect(throws: DecodingError.self) { try await next() }
                        context.delete(wrong)
                        try await context.save()
                        #expect(try await next()?.rows.map(\.note) == ["2"])
                    }
                }
            }
        }

        /// Sections, by a text that is itself sorted by.
        @Test func sectionsComeAndGo() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let item = try await client.entity("Item")
                    let context = ObjectContext(client)
                    try context.insert(item, ["title": "a", "note": "x"], under: ObjectID(1))
                    try await context.save()
                    let list = try item.request(where: "parent == 1", section: "note", properties: ["title", "note"])
                    try await client.withFetchedResults(list) { results in
                        var changes = results.makeAsyncIterator()
                        #expect(try await changes.next()?.rows.sections.map(\.name) == ["x"])
                        try context.insert(item, ["title": "b", "note": "y"], under: ObjectID(1))
                        try await context.save()
                        while let change = try await changes.next() {
                            guard change.changesRows else { continue }
                            #expect(change.rows.sections.map(\.name) == ["x", "y"])
                            #expect(change.events.first == .insertSection(key: .string("y"), to: 1))
                            #expect(change.rows.map { $0.text("title") } == ["a", "b"])
                            return
                        }
                    }
                }
            }
        }

        @Test func anotherRequestHasItsOwnColumns() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let item = try await client.entity("Item")
                    let context = ObjectContext(client)
                    try context.insert(item, ["title": "a", "note": "b"], under: ObjectID(1))
                    try await context.save()
                    let titles = try item.request(where: "parent == 1", properties: ["title"])
                    let notes = try item.request(where: "parent == 1", properties: ["note"])
                    try await client.withFetchedResults(titles) { results in
                        var changes = results.makeAsyncIterator()
                        #expect(try await changes.next()?.rows.map { $0.text("title") } == ["a"])
                        try await results.change(to: notes)
                        while let change = try await changes.next() {
                            guard change.rows.first?.names == ["note"], !change.rows.isEmpty else { continue }
                            #expect(change.rows.map { $0.text("note") } == ["b"])
                            return
                        }
                    }
                }
            }
        }

        @Test func relationshipsAreChangedByName() async throws {
            try await withServer({ $0.store.model = .network }) { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let person = try await client.entity("Person")
                    let context = ObjectContext(client)
                    let ann = try context.insert(person, ["name": "Ann"])
                    let bob = try context.insert(person, ["name": "Bob"])
                    let cleo = try context.insert(person, ["name": "Cleo"])
                    try context.relate(ann, of: person, "friends", to: bob)
                    try context.setRelated(cleo, of: person, "friends", to: [ann, bob])
                    try context.unrelate(cleo, of: person, "friends", from: ann)
                    try await context.save()
                    func friends(_ reference: ObjectReference) async throws -> [String] {
                        let id = try #require(context.objectID(of: reference))
                        let list = try person.request(where: "ANY fans == \(id)", sort: "name", properties: ["name"])
                        return try await client.fetch(list).map { $0.text("name") }
                    }
                    #expect(try await friends(ann) == ["Bob"])
                    #expect(try await friends(cleo) == ["Bob"])
                    let error = #expect(throws: NestError.self) {
                        try context.relate(ann, of: person, "name", to: bob)
                    }
                    #expect(error?.message == "Person's 'name' is no to-many relationship")
                    let none = #expect(throws: NestError.self) {
                        try context.insert(person, ["name": "Dan"], under: ann)
                    }
                    #expect(none?.message == "Person has no to-one relationship to an owner")
                }
            }
        }
    }
}

extension ManagedObjectModel {
    /// People who know each other.
    fileprivate static let network = ManagedObjectModel(entities: [
        EntityDescription(
            number: 1,
            name: "Person",
            attributes: [AttributeDescription(number: 1, name: "name", type: .string)],
            relationships: [
                RelationshipDescription(
                    number: 2,
                    name: "friends",
                    destination: 1,
                    inverse: 3,
                    isToMany: true,
                    deleteRule: .nullify,
                    join: 9
                ),
                RelationshipDescription(
                    number: 3,
                    name: "fans",
                    destination: 1,
                    inverse: 2,
                    isToMany: true,
                    deleteRule: .nullify,
                    join: 9
                ),
            ]
        )
    ])
}
