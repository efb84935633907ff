import NestClient
import NestModel

/// Things to do: insert them, correct them, tick them off.
@MainActor enum Done {
    static func run(_ client: NestClient) async throws {
        let todo = try await client.entity("ToDo")

        // A refused change stays in the context: show the reason, correct it, save again.
        let context = ObjectContext(client)
        let added = try context.insert(todo, ["name": ""])
        do {
            try await context.save()
        } catch {
            print("refused: \(error.message)")
            try context.set(added, of: todo, ["name": "Buy bread"])
            try await context.save()
        }

        // The current list, then every change.
        let list = try todo.request(sort: "createdAt", properties: ["name", "done"])
        try await client.withFetchedResults(list.request) { results in
            var changes = results.transitions.makeAsyncIterator()
            _ = try await changes.next()
            for row in results.state.sections[0].rows { print(Self.line(row, list)) }

            // Several changes are one transaction, one undo entry, and one batch for the view.
            guard let first = results.state.sections[0].rows.first else { return }
            try context.set(.object(first.id), of: todo, ["done": list["done", first] != .boolean(true)])
            try context.insert(todo, ["name": "Buy butter"])
            try await context.save(name: "tick off, and one more")
            for event in try await changes.events() {
                switch event {
                case .insert(let row, let path): print("insert at \(path.row): \(Self.line(row, list))")
                case .update(let row, _, let path): print("update at \(path.row): \(Self.line(row, list))")
                default: break
                }
            }
        }
    }

    private static func line(_ row: Row, _ list: NamedRequest) -> String {
        (list["done", row] == .boolean(true) ? "[x] " : "[ ] ") + list.text("name", row)
    }
}
