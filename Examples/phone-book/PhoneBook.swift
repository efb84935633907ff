import NestClient

/// People in alphabetical sections, a search field, and batches.
@MainActor enum PhoneBook {
    private static let people = PhoneBookModel.User.all
        .sorted(by: \.name, ignoring: [.caseInsensitive, .diacriticInsensitive])

    static func run(_ client: NestClient) async throws {
        try await Self.add([("Ann Berger", "+41 61 555 01 10"), ("Ann Berger", "+41 44 555 0130")], client)
        try await Self.show(searching: "an", client)
        try await Self.show(searching: "", client)
        try await Self.showBatches(client)
    }

    /// Imports a list in one save. Existing people and phones stay as they are; the others are created.
    private static func add(_ entries: [(name: String, number: String)], _ client: NestClient) async throws {
        let context = try await client.context()
        for entry in entries {
            let owner = try context.findOrCreate(PhoneBookModel.User.self, matching: .name(entry.name))
            try context.findOrCreate(PhoneBookModel.Phone.self, matching: .number(entry.number), with: [.user(owner)])
        }
        let receipt = try await context.save(name: "import \(entries.count) entries")
        print("made \(receipt?.insertedCount ?? 0) of \(2 * entries.count)")
    }

    /// Prints all people with a phone. With text in the search field, their names must contain it.
    private static func show(searching typed: String, _ client: NestClient) async throws {
        var found = Self.people.where(\.phones.count > 0).sectioned(byFirstCharacterOf: \.name)
        if !typed.isEmpty { found = found.where(.contains(\.name, typed, ignoring: .caseInsensitive)) }
        let sections = try await client.fetch(found.columns(\.name, \.phones.count)).sections
        print("index: \(sections.map(\.name).joined())")
        for section in sections {
            let names = section.rows.map { "\($0.values.0) (\($0.values.1))" }
            print("\(section.name): \(names.joined(separator: ", "))")
        }
    }

    /// Prints batches of ten rows, each with the total number.
    private static func showBatches(_ client: NestClient) async throws {
        for offset in stride(from: 0, to: try await client.count(Self.people), by: 10) {
            let rows = try await client.fetch(Self.people.window(.range(offset: offset, limit: 10)))
            print("rows \(offset) to \(offset + rows.count - 1) of \(rows.total)")
        }
    }
}
