import NestClient

/// People in alphabetical sections, a search field, and batches.
@MainActor enum PhoneBook {
    static func run(_ client: NestClient) async throws {
        try await Self.add([("Ann Berger", "+41 61 555 01 10"), ("Ann Berger", "+41 44 555 0130")], client)
        let user = try await client.entity("User")
        try await Self.show(try Self.request(user, searching: "an"), client)
        try await Self.show(try Self.request(user, searching: ""), client)
        try await Self.showBatches(client)
    }

    /// Imports a list in one save. Existing people and phones stay as they are; the others are created.
    private static func add(_ entries: [(name: String, number: String)], _ client: NestClient) async throws {
        let users = try await client.entity(PhoneBookModel.User.self)
        let phones = try await client.entity(PhoneBookModel.Phone.self)
        let context = ObjectContext(client)
        for entry in entries {
            let owner = try context.findOrCreate(users, matching: [.name(entry.name)])
            try context.findOrCreate(phones, matching: [.number(entry.number)], [.user(owner)])
        }
        let receipt = try await context.save(name: "import \(entries.count) entries")
        print("made \(receipt?.insertedCount ?? 0) of \(2 * entries.count)")
    }

    /// Returns a request for all people with a phone. With text in the search field, their names must contain it.
    private static func request(_ user: NamedEntity, searching typed: String) throws -> NamedRequest {
        var predicate = "phones.@count > 0"
        if !typed.isEmpty { predicate += " AND name CONTAINS[c] \(FetchPredicate.quoted(typed))" }
        return try user.request(
            where: predicate,
            sort: "name:cd",
            section: "firstCharacter(name)",
            properties: ["name", "phones.@count"]
        )
    }

    /// In an application the controller runs as long as its screen, and its delegate draws the changes.
    private static func show(_ people: NamedRequest, _ client: NestClient) async throws {
        let controller = FetchedResultsController(fetchRequest: people, client: client)
        let screen = Screen()
        controller.delegate = screen
        let running = Task { try await controller.run() }
        await screen.firstContent()
        print("index: \(controller.sectionIndexTitles.joined())")
        for section in controller.sections {
            let names = section.objects.map(people.named).map { "\($0.text("name")) (\($0.text("phones.@count")))" }
            print("\(section.name): \(names.joined(separator: ", "))")
        }
        running.cancel()
        _ = await running.result
    }

    /// Prints batches of ten rows, each with the total number.
    private static func showBatches(_ client: NestClient) async throws {
        var offset = 0
        while true {
            let all = PhoneBookModel.User.all.sorted(by: \.name, ignoring: [.caseInsensitive, .diacriticInsensitive])
            let rows = try await client.fetch(all.window(.range(offset: offset, limit: 10)))
            guard !rows.isEmpty else { return }
            print("rows \(offset) to \(offset + rows.count - 1) of \(rows.total)")
            offset += rows.count
        }
    }
}

/// Waits for the first content.
@MainActor private final class Screen: @MainActor FetchedResultsControllerDelegate {
    private let (contents, continuation) = AsyncStream<Void>.makeStream()

    func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason) {
        self.continuation.yield()
    }

    func firstContent() async {
        for await _ in self.contents { return }
    }
}
