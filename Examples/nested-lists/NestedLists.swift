import NestClient

/// A live list on a screen, and the changes that a user makes.
@MainActor enum NestedLists {
    static func run(_ client: NestClient) async throws {
        let item = try await client.entity("Item")
        let root = ObjectID(1)

        // The children of the root, in their order. A row's index is its `order`: always 0 to n-1.
        let list = try item.request(
            where: "parent == \(root)",
            sort: "order",
            properties: ["title", "children.@count"]
        )
        let controller = FetchedResultsController(fetchRequest: list, client: client)
        let screen = Screen(list)
        controller.delegate = screen
        let running = Task { try await controller.run() }
        await screen.change()

        // Insert at the end, move to the front, delete a list with everything inside, and undo.
        let context = ObjectContext(client)
        let hobbies = try context.insert(item, ["title": "Hobbies"], under: root)
        try await context.save()
        await screen.change()
        try context.move(hobbies, of: item, under: root, at: .first)
        try await context.save()
        await screen.change()
        guard let last = controller.fetchedObjects?.last else { return }
        context.delete(last)
        try await context.save()
        await screen.change()
        let undone = try await client.undo()
        await screen.change()
        print("undone: \(undone.name)")
        running.cancel()
        _ = await running.result
    }
}

/// Prints what an application would draw.
@MainActor private final class Screen: @MainActor FetchedResultsControllerDelegate {
    private let list: NamedRequest
    private let (changes, continuation) = AsyncStream<Void>.makeStream()

    init(_ list: NamedRequest) {
        self.list = list
    }

    func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason) {
        for row in controller.fetchedObjects ?? [] { print(self.line(row)) }
        self.continuation.yield()
    }

    func controller(
        _ controller: FetchedResultsController,
        didChange object: Row,
        at indexPath: RowPosition?,
        for type: FetchedResultsChangeType,
        newIndexPath: RowPosition?
    ) {
        let orders = [indexPath, newIndexPath].compactMap { $0.map { "\($0.row)" } }.joined(separator: " to ")
        print("\(type) \(orders): \(self.line(object))")
    }

    func controllerDidChangeContent(_ controller: FetchedResultsController) {
        self.continuation.yield()
    }

    /// Waits for the next change, or the first content.
    func change() async {
        for await _ in self.changes { return }
    }

    private func line(_ row: Row) -> String {
        let row = self.list.named(row)
        return "\(row.text("title")), \(row.text("children.@count")) inside"
    }
}
