import NestClient

/// Things to do: insert them, correct them, tick them off.
@MainActor enum Done {
    static func run(_ client: NestClient) async throws {
        // A refused change stays in the context: show the reason, correct it, save again.
        let context = try await client.context()
        let added = try context.insert(ToDo.self, .name(""))
        do {
            try await context.save()
        } catch {
            print("refused: \(error.message)")
            try context.set(added, .name("Buy bread"))
            try await context.save()
        }

        // The current list, then every change.
        try await client.withFetchedResults(ToDo.all.sorted(by: \.createdAt)) { results in
            var changes = results.makeAsyncIterator()
            let tasks = try await changes.rows()
            for task in tasks { print(Self.line(task)) }

            // Several changes are one transaction, one undo entry, and one batch for the view.
            guard let first = tasks.first else { return }
            try context.set(first, .done(!first.done))
            try context.insert(ToDo.self, .name("Buy butter"))
            try await context.save(name: "tick off, and one more")
            for event in try await changes.events() {
                switch event {
                case .insert(let task, let path): print("insert at \(path.row): \(Self.line(task))")
                case .update(let task, _, let path): print("update at \(path.row): \(Self.line(task))")
                default: break
                }
            }
        }
    }

    private static func line(_ task: ToDo) -> String { "\(task.done ? "[x]" : "[ ]") \(task.name)" }
}
