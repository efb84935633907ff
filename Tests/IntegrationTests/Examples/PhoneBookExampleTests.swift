import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// The phone book example: an import with find-or-create, sections with an index, search, batches.
    @MainActor @Suite struct PhoneBookExample {
        private let example: Example

        init() async throws {
            self.example = try await Example("phone-book")
            #expect(
                self.example.seeded.split(separator: "\n").map { $0.filter { $0 != " " } } == ["30created", "2found"]
            )
        }

        private static let entries = [
            (name: "Ann Berger", number: "+41 61 555 01 10"),  // both exist
            (name: "Ann Berger", number: "+41 44 555 0130"),  // a new phone of an existing user
            (name: "Xaver Zimmer", number: "+43 1 555 0131"),  // both are new
            (name: "Xaver Zimmer", number: "+43 1 555 0132"),  // the previous entry created the user
            (name: "Zoe Ardent", number: "+41 79 555 01 14"),  // the phone stays with Ann
        ]

        private func importEntries(_ client: NestClient) async throws -> (receipt: Receipt, found: [Bool?]) {
            let (user, phone) = (try await client.entity("User"), try await client.entity("Phone"))
            let context = ObjectContext(client)
            var made: [ObjectReference] = []
            for entry in Self.entries {
                let owner = try context.findOrCreate(user, matching: ["name": entry.name])
                made.append(owner)
                made.append(try context.findOrCreate(phone, matching: ["number": entry.number], ["user": owner]))
            }
            let receipt = try #require(try await context.save())
            return (receipt, made.map { context.isFound($0) })
        }

        @Test func importingTheSameEntriesTwiceCreatesThemOnce() async throws {
            try await self.example.withClient { client in
                let (receipt, found) = try await self.importEntries(client)
                #expect(receipt.revision == Revision(2))
                #expect(found == [true, true, true, false, false, false, true, false, true, true])
                let again = try await self.importEntries(client)
                #expect(!again.receipt.isChanged && again.receipt.revision == Revision(2))
                #expect(again.found.allSatisfy { $0 == true })
                let phone = try await client.entity("Phone")
                func numbers(_ name: String) async throws -> [String] {
                    let phones = try phone.request(where: "user.name == \(FetchPredicate.quoted(name))", sort: "number")
                    return try await client.fetch(phones).map { $0.text("number") }
                }
                #expect(
                    try await numbers("Ann Berger") == [
                        "+41 44 555 0130", "+41 61 555 01 10", "+41 79 555 01 14",
                    ]
                )
                #expect(try await numbers("Xaver Zimmer") == ["+43 1 555 0131", "+43 1 555 0132"])
                #expect(try await numbers("Zoe Ardent").count == 1)
                // One save is one undo entry.
                _ = try await client.undo()
                #expect(try await numbers("Xaver Zimmer") == [])
            }
            let again = try await CommandLineUser.Result(
                Example.shell("Examples/phone-book/seed.sh", self.example.user)
            )
            #expect(again.output.filter { $0 != " " } == "32found\n", "\(again.report)")
        }

        @Test func peopleAreInSectionsByTheirFirstLetter() async throws {
            try await self.example.withClient { client in
                let user = try await client.entity("User")
                let people = try user.request(sort: "name:c", section: "firstCharacter(name)")
                let screen = ExampleScreen(people, title: "name")
                try await screen.run(client) { controller in
                    #expect(
                        screen.titles(controller).prefix(5) == [
                            "Ann Berger", "anna lind", "Bao Nguyen", "Ben Okafor", "bob the builder",
                        ]
                    )
                    let letters = ["A", "B", "C", "D", "E", "F", "G", "H", "Z", "É"]
                    #expect(controller.sections.map(\.name) == letters)
                    #expect(controller.sectionIndexTitles == letters)
                    #expect(controller.section(forSectionIndexTitle: "C", at: 2) == 2)
                    #expect(controller.sections[1].numberOfObjects == 3)

                    let context = ObjectContext(client)
                    try context.insert(user, ["name": "yves"])
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(screen.takeLog() == ["insert section 8 Y", "insert yves [8, 0]"])
                    try context.set(.object(ObjectID(3)), of: user, ["name": "adam the builder"])
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(
                        screen.takeLog() == [
                            "move adam the builder [1, 2] to [0, 0]", "update adam the builder [1, 2] to [0, 0]",
                        ]
                    )
                    context.delete(.object(ObjectID(5)))
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(screen.takeLog() == ["delete Zoe Ardent [9, 0]", "delete section 9 Z"])
                }
                // Without diacritics, É sorts as E.
                let folded = try user.request(sort: "name:cd", section: "firstCharacter(name)")
                let sections = try await client.fetch(folded.request).sections
                #expect(sections[4].rows.map { folded.named($0).text("name") } == ["Émile Roux", "Eve Jansen"])
            }
        }

        @Test func searchingNarrowsTheListAndClearingRestoresIt() async throws {
            try await self.example.withClient { client in
                let user = try await client.entity("User")
                @MainActor func people(_ typed: String) throws -> NamedRequest {
                    var predicate = "phones.@count > 0"
                    if !typed.isEmpty { predicate += " AND name CONTAINS[c] \(FetchPredicate.quoted(typed))" }
                    return try user.request(where: predicate, sort: "name:c", properties: ["name"])
                }
                let screen = ExampleScreen(try people(""), title: "name")
                try await screen.run(client) { controller in
                    let all = screen.titles(controller)
                    @MainActor func search(_ typed: String) async throws -> [String] {
                        let request = try people(typed).request
                        #expect(try await controller.change(to: request))
                        let found = try await client.fetch(request)
                        try await screen.wait { controller.content.rows == found.rows }
                        return screen.titles(controller)
                    }
                    #expect(all.count == 14)
                    var found = try await search("A")
                    #expect(found.count == 12)
                    found = try await search("an")
                    #expect(found.count == 8)
                    #expect(try await search("ANN") == ["Ann Berger", "anna lind", "Carla Mann"])
                    // The typed text is a value, not part of the predicate's syntax.
                    #expect(try await search("mann\" OR \"a\" == \"a") == [])
                    #expect(try await search("") == all)
                }
            }
        }

        @Test func batchesOfTenCoverTheResult() async throws {
            try await self.example.withClient { client in
                let user = try await client.entity("User")
                let all = try await client.fetch(user.request(sort: "name:c").request).rows
                #expect(all.count == 14)
                var rows: [Row] = []
                for offset in stride(from: 0, to: all.count, by: 10) {
                    let window = FetchWindow(offset: offset, limit: 10)
                    let batch = try await client.fetchWindow(user.request(sort: "name:c", window: window).request)
                    #expect(batch.total == 14)
                    rows += batch.snapshot.rows
                }
                #expect(rows == all)

                // A row inserted into the first batch removes the last row of that batch.
                let first = try user.request(sort: "name:c", window: FetchWindow(limit: 10))
                let screen = ExampleScreen(first, title: "name")
                try await screen.run(client) { controller in
                    let context = ObjectContext(client)
                    try context.insert(user, ["name": "Aaron"])
                    try await screen.wait(for: try await context.save(), in: controller)
                    let pushed = first.named(all[9]).text("name")
                    #expect(screen.takeLog() == ["delete \(pushed) [0, 9]", "insert Aaron [0, 0]"])
                    #expect(controller.content.window?.total == 15)
                }
            }
        }
    }
}
