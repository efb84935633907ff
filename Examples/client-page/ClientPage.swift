import Foundation
import NestCache
import NestClient

/// The code that `docs/client-swift.md` quotes. `run` executes it on a `nestd` that serves the nested list.
@MainActor enum ClientPage {
    static func run(_ client: NestClient) async throws {
        try await Self.connect(client.configuration)
        let groceries = try await Self.insert(client)
        try await Self.fetch(client)
        try await Self.subscribe(client, groceries) { try await Self.insert("Tea", in: groceries, client) }
        try await Self.scroll(client, groceries)
        try await Self.outline(client, groceries)
        try await Self.observe(client, groceries) { try await Self.insert("Pepper", in: groceries, client) }
        try await Self.show(client, groceries) { try await Self.insert("Salt", in: groceries, client) }
        try await Self.move(client, groceries)
        try await Self.writeWithoutWaiting(client, groceries)
        try await Self.refused(client, groceries)
        try await Self.lastState(client.configuration, groceries)
        try await Self.undo(client)
        try await Self.group(client, groceries)
        try await Self.untilCancelled { try await Self.menu(client) }
        let start = await client.server.map { ResumePoint(historyID: $0.historyID, revision: Revision(0)) }
        try await Self.untilCancelled { try await Self.index(client, client.entity("Item"), after: start) }
    }

    /// Runs something endless for a short time.
    private static func untilCancelled(_ body: @escaping @MainActor () async throws -> Void) async throws {
        let task = Task { try await body() }
        try await Task.sleep(for: .milliseconds(300))
        task.cancel()
        do { try await task.value } catch is CancellationError {}
    }

    private static func insert(_ title: String, in owner: ObjectID, _ client: NestClient) async throws {
        let context = ObjectContext(client)
        try context.insert(try await client.entity("Item"), ["title": title, "parent": owner])
        try await context.save()
    }

    // MARK: Connect

    static func connect(_ configuration: ClientConfiguration) async throws {
        try await NestClient.withClient(configuration) { client in
            print("revision \(await client.server?.revision ?? Revision(0))")
        }

        let client = NestClient(configuration)
        try await client.connect()
        await client.close()
    }

    static func configuration() -> ClientConfiguration {
        ClientConfiguration(host: "127.0.0.1", port: 7000, clientName: "groceries")
    }

    static func cluster() throws -> ClientConfiguration {
        ClientConfiguration(try ServerAddresses("nests://a.example,b.example:7001,c.example"))
    }

    static func fetchNewest(_ request: ObjectFetchRequest, _ client: NestClient) async throws -> SectionedSnapshot {
        try await client.fetch(request, atLeast: .newest)
    }

    static func sessions() throws -> [ClientConfiguration] {
        let fresh = ClientConfiguration(host: "127.0.0.1", port: 7000, session: .fresh)
        var shared = ClientConfiguration(host: "127.0.0.1", port: 7000)
        try shared.keepSession(of: "org.example.shop")
        return [fresh, shared]
    }

    static func configuration(tokenFile: String) -> ClientConfiguration? {
        guard let token = AccessToken(text: tokenFile) else { return nil }
        var configuration = ClientConfiguration(host: "nest.example.org", token: token)
        configuration.tls = ClientTLS()
        return configuration
    }

    // MARK: Cache

    static func lastState(_ configuration: ClientConfiguration, _ groceries: ObjectID) async throws {
        let directory = NSTemporaryDirectory() + "groceries-\(UUID())"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // The second run begins with the state of the first one.
        for _ in 1...2 { try await Self.run(configuration, directory, groceries) }
    }

    private static func run(
        _ settings: ClientConfiguration,
        _ directory: String,
        _ groceries: ObjectID
    ) async throws {
        var configuration = settings
        let cache = try CacheFile(path: "\(directory)/lists")
        configuration.cache = cache
        let client = NestClient(configuration)
        let item = try await client.entity("Item")
        let list = try item.request(where: "parent == \(groceries)", sort: "order", properties: ["title"])
        try await client.withFetchedResults(list) { results in
            for try await change in results {
                print(change.isCurrent ? "current:" : "from the last run:", change.rows.map { $0.text("title") })
                if change.isCurrent { break }
            }
        }
        await client.close()
    }

    static func signOut(_ cache: CacheFile) async throws {
        try await cache.clear()
    }

    // MARK: Write

    static func insert(_ client: NestClient) async throws -> ObjectID {
        let item = try await client.entity("Item")
        let root = ObjectID(1)

        let context = ObjectContext(client)
        let groceries = try context.insert(item, ["title": "Groceries", "parent": root])
        let milk = try context.insert(item, ["title": "Milk", "parent": groceries])
        try context.insert(item, ["title": "Bread", "parent": groceries])
        try context.set(milk, of: item, ["note": "two litres", "done": true])
        try await context.save(name: "plan the shopping")

        guard let id = context.objectID(of: groceries) else { preconditionFailure("a saved object has an id") }
        return id
    }

    static func move(_ client: NestClient, _ groceries: ObjectID) async throws {
        let item = try await client.entity("Item")
        let list = try item.request(where: "parent == \(groceries)", sort: "order", properties: ["title"])
        guard let last = try await client.fetch(list).last else { return }

        let context = ObjectContext(client)
        try context.move(last, of: item, under: groceries, at: .first)
        let seen = try await client.object(last.id)
        context.require(last.id, unchangedSince: seen.revision)
        try await context.save()

        let ids = try await client.reserveIDs(100)
        try context.insert(
            item,
            ["title": "Oats"],
            under: groceries,
            at: .near(left: .object(last.id), right: nil),
            as: ids[0]
        )
        try await context.save()
    }

    static func writeWithoutWaiting(_ client: NestClient, _ groceries: ObjectID) async throws {
        let item = try await client.entity("Item")

        let optimistic = try await client.optimistic()
        let list = try item.request(where: "parent == \(groceries)", sort: "order", properties: ["title"])
        try await optimistic.withResults(list) { states in
            let context = ObjectContext(client)
            try context.insert(item, ["title": "Flour", "parent": groceries])
            let write = try optimistic.save(context, name: "add flour")
            for try await state in states {
                for row in try state.rows(of: list) { print(row.text("title"), state.pending.contains(row.id)) }
                if write.state == .settled { break }
            }
            let receipt = try await write.receipt()
            print("durable at revision \(receipt.revision)")
        }
    }

    static func lunch(_ client: NestClient, _ optimistic: OptimisticClient, _ groceries: ObjectID) async throws {
        let item = try await client.entity("Item")
        let write = try await optimistic.group("pack lunch") { group in
            let context = ObjectContext(client)
            let lunch = try context.insert(item, ["title": "Lunch", "parent": groceries])
            try group.save(context)
            try context.insert(item, ["title": "Apple", "parent": lunch])
            try group.save(context)
        }
        _ = try await write?.receipt()
    }

    static func refused(_ client: NestClient, _ groceries: ObjectID) async throws {
        let item = try await client.entity("Item")
        let context = ObjectContext(client)
        let added = try context.insert(item, ["parent": groceries])
        do {
            try await context.save()
        } catch {
            guard error.code == .validationFailed else { throw error }
            for fault in error.faults { print(fault.message) }
            try context.set(added, of: item, ["title": "Butter"])
            try await context.save()
        }
    }

    // MARK: Read

    static func fetch(_ client: NestClient) async throws {
        let item = try await client.entity("Item")
        let open = try item.request(
            where: "done == NO AND parent.title == 'Groceries'",
            sort: "title:c",
            properties: ["title", "note", "children.@count"]
        )
        for row in try await client.fetch(open) {
            print(row.id, row.text("title"), row["children.@count"] == .integer(0) ? "is empty" : "has items")
        }
        print("\(try await client.count(open)) in all")
        try await Self.decode(open, client)
    }

    struct ToDo: Decodable, RowDecodable, Identifiable {
        let id: ObjectID
        let title: String
        let note: String?
    }

    private static func decode(_ open: NamedRequest, _ client: NestClient) async throws {
        for item in try await client.fetch(open, as: ToDo.self) {
            print(item.id, item.title, item.note ?? "without a note")
        }
    }

    // MARK: Subscribe

    static func subscribe(
        _ client: NestClient,
        _ groceries: ObjectID,
        whileRunning change: @escaping @MainActor () async throws -> Void
    ) async throws {
        let item = try await client.entity("Item")
        let list = try item.request(where: "parent == \(groceries)", sort: "order", properties: ["title", "done"])
        let following = Task {
            try await client.withFetchedResults(list) { results in
                for try await change in results {
                    switch change.change {
                    case .snapshot, .diff: print(change.rows.map { $0.text("title") })
                    case .disconnected(let reason): print("offline: \(reason)")
                    case .resumed, .progress, .position, .totals, .paused, .reset: break
                    }
                }
            }
        }
        try await Self.untilCancelled(change)
        following.cancel()
        do { try await following.value } catch is CancellationError {}
    }

    static func draw(_ results: RowsSubscription<FetchedRow>) async throws {
        for try await change in results {
            for event in change.events {
                switch event {
                case .insert(let row, let path): print("insert \(row.text("title")) at \(path)")
                case .delete(let row, let path): print("delete \(row.text("title")) from \(path)")
                case .move(let row, let old, let new): print("move \(row.text("title")) from \(old) to \(new)")
                case .update(let row, _, let path): print("update \(row.text("title")) at \(path)")
                case .insertSection, .deleteSection: break
                }
            }
        }
    }

    static func observe(
        _ client: NestClient,
        _ groceries: ObjectID,
        whileRunning change: @escaping @MainActor () async throws -> Void
    ) async throws {
        let list = LiveResults(client, as: ToDo.self) { client in
            let item = try await client.entity("Item")
            return try item.request(where: "parent == \(groceries)", sort: "order", properties: ["title", "note"])
        }
        list.onChange = { change in print("\(change.rows.count) rows after \(change.events.count) events") }
        let running = Task { await list.run() }
        try await Self.untilCancelled(change)
        running.cancel()
        await running.value
    }

    static func scroll(_ client: NestClient, _ groceries: ObjectID) async throws {
        let item = try await client.entity("Item")
        func request(_ typed: String) throws -> NamedRequest {
            var predicate = "parent == \(groceries)"
            if !typed.isEmpty { predicate += " AND title CONTAINS[c] \(FetchPredicate.quoted(typed))" }
            return try item.request(where: predicate, sort: "title:c", properties: ["title"])
        }
        let list = try request("")
        guard let milk = try await client.fetch(try request("milk")).first?.id else { return }
        try await client.withFetchedResults(list) { results in
            let drawing = Task { try await Self.draw(results) }
            try await results.setWindow(.range(offset: 1, limit: 20))
            try await results.setWindow(.around(milk, before: 10, after: 10))
            try await results.change(to: try request("b"))
            await results.pause()
            await results.resume()
            drawing.cancel()
        }
    }

    static func outline(_ client: NestClient, _ groceries: ObjectID) async throws {
        let item = try await client.entity("Item")
        let list = try item.outline(below: ObjectID(1), by: "children", properties: ["title"])
        try await client.withOutline(list) { outline in
            let drawing = Task {
                for try await change in outline {
                    for run in change.runs { print("\(run.kind): \(run.count) rows") }
                    for row in change.state.rows {
                        let sign = row.hasChildren ? row.isExpanded ? "▾" : "▸" : "·"
                        print(String(repeating: "  ", count: row.depth), sign, list.named(row).text("title"))
                    }
                }
            }
            try await outline.setExpanded(groceries, true)
            try await outline.scroll(to: .around(groceries, before: 20, after: 40))
            try await outline.zoom(to: groceries)
            try await outline.change(where: FetchPredicate("done == NO", of: item.description, in: item.model))
            try await outline.expand(.all)
            drawing.cancel()
            _ = await drawing.result
        }
    }

    // MARK: Presence

    static func people(_ client: NestClient, list: ObjectID, row: ObjectID, title: PropertyNumber) async throws {
        let presence = client.presence(of: list)
        presence.show(PresencePlace(object: row, property: title, selection: .init(anchor: 4, head: 4)))
        for try await present in presence {
            for other in present.others { print(other.user?.text ?? "unknown", other.place?.object as Any) }
        }
    }

    // MARK: Controller

    static func show(
        _ client: NestClient,
        _ groceries: ObjectID,
        whileRunning change: @escaping @MainActor () async throws -> Void
    ) async throws {
        let item = try await client.entity("Item")
        let list = try item.request(where: "parent == \(groceries)", sort: "order", properties: ["title"])
        let screen = ListScreen(list)
        let controller = FetchedResultsController(fetchRequest: list, client: client)
        controller.delegate = screen
        let running = Task { try await controller.run() }
        try await Self.untilCancelled(change)
        running.cancel()
        _ = await running.result
    }

    // MARK: Undo

    static func undo(_ client: NestClient) async throws {
        let receipt = try await client.undo(options: UndoOptions(policy: .keep))
        print("undid: \(receipt.name)")
        for conflict in receipt.conflicts.listed { print("kept: \(conflict.label), \(conflict.reason)") }
        _ = try await client.redo()
    }

    static func group(_ client: NestClient, _ groceries: ObjectID) async throws {
        let item = try await client.entity("Item")
        try await client.group("more to buy") { client in
            let context = ObjectContext(client)
            try context.insert(item, ["title": "Eggs", "parent": groceries])
            try await context.save()
            try context.insert(item, ["title": "Flour", "parent": groceries])
            try await context.save()
        }
    }

    static func menu(_ client: NestClient) async throws {
        for try await state in client.undoStates() {
            print("Undo \(state.undo?.name ?? "")")
            print("Redo \(state.redo?.name ?? "")")
        }
    }

    // MARK: Changes

    static func index(_ client: NestClient, _ item: NamedEntity, after saved: ResumePoint?) async throws {
        try await client.withChanges(since: saved) { changes in
            for try await event in changes {
                if case .changes(let part) = event {
                    for object in part.objects {
                        print(part.revision, object.kind, object.id, object.propertyNames(in: item.model))
                    }
                }
                // Save `changes.position`; the next run passes it as `since`.
            }
        }
    }

    // MARK: Tokens

    static func createToken(_ client: NestClient) async throws -> String {
        let token = try await client.createToken(TokenGrant(name: "dashboard", role: .read))
        return token.text
    }
}

/// The delegate of a controller. An application would update a table view.
@MainActor final class ListScreen: @MainActor FetchedResultsControllerDelegate {
    private let list: NamedRequest

    init(_ list: NamedRequest) {
        self.list = list
    }

    func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason) {
        print("\(controller.fetchedObjects?.count ?? 0) rows")
    }

    func controller(
        _ controller: FetchedResultsController,
        didChange object: Row,
        at indexPath: RowPosition?,
        for type: FetchedResultsChangeType,
        newIndexPath: RowPosition?
    ) {
        let paths = [indexPath, newIndexPath].compactMap { $0.map { "\($0)" } }
        print("\(type) \(self.list.named(object).text("title")) \(paths.joined(separator: " to "))")
    }
}
