import NestClient

/// Things to do: insert them, correct them, tick them off.
@MainActor enum Done {
    private struct ToDo: Decodable, RowDecodable, Identifiable, CustomStringConvertible {
        let id: ObjectID
        let name: String
        let done: Bool

        var description: String { "\(self.done ? "[x]" : "[ ]") \(self.name)" }
    }

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
        try await client.withFetchedResults(list, as: ToDo.self) { results in
            var changes = results.makeAsyncIterator()
            let tasks = try await changes.rows()
            for task in tasks { print(task) }

            // Several changes are one transaction, one undo entry, and one batch for the view.
            guard let first = tasks.first else { return }
            try context.set(first.id, of: todo, ["done": !first.done])
            try context.insert(todo, ["name": "Buy butter"])
            try await context.save(name: "tick off, and one more")
            for event in try await changes.events() {
                switch event {
                case .insert(let task, let path): print("insert at \(path.row): \(task)")
                case .update(let task, _, let path): print("update at \(path.row): \(task)")
                default: break
                }
            }
        }
    }
}
