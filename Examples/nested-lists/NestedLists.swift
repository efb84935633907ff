import NestClient

/// A live list on a screen, and the changes that a user makes.
@MainActor enum NestedLists {
    static func run(_ client: NestClient) async throws {
        // The children of the root, in their order. A row's index is its `order`: always 0 to n-1.
        let root = ObjectID(1)
        let list = Item.where(\.parent == root).inOrder().columns(\.title, \.children.count)
        try await client.withFetchedResults(list) { results in
            var changes = results.makeAsyncIterator()
            let rows = try await changes.rows()
            for row in rows { print(Self.line(row)) }

            // Insert at the end, move to the front, delete a list with everything inside, and undo.
            let context = try await client.context()
            let hobbies = try context.insert(Item.self, .title("Hobbies"), under: root)
            try await context.save()
            Self.show(try await changes.events())
            try context.move(hobbies, under: root, at: .first)
            try await context.save()
            Self.show(try await changes.events())
            if let last = rows.last { context.delete(last) }
            try await context.save()
            Self.show(try await changes.events())
            let undone = try await client.undo()
            Self.show(try await changes.events())
            print("undone: \(undone.name)")
        }
    }

    /// Prints what a table view would do.
    private static func show(_ events: [RowsEvent<SelectedRow<String, Int>>]) {
        for event in events {
            switch event {
            case .insert(let row, let path): print("insert \(path.row): \(Self.line(row))")
            case .delete(let row, let path): print("delete \(path.row): \(Self.line(row))")
            case .move(let row, let old, let new): print("move \(old.row) to \(new.row): \(Self.line(row))")
            case .update, .insertSection, .deleteSection: break
            }
        }
    }

    private static func line(_ row: SelectedRow<String, Int>) -> String {
        "\(row.values.0), \(row.values.1) inside"
    }
}
