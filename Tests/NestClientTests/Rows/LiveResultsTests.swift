import NestClient
import NestProtocol
import NestServerTestSupport
import NestTestSupport
import Observation
import Testing

extension SocketTests {
    /// Results for views that observe their data.
    @MainActor struct LiveResultsTests {
        private static func list(_ client: NestClient) async throws -> NamedRequest {
            try await client.entity("Item").request(where: "parent == 1", sort: "order", properties: ["title"])
        }

        /// Waits until the condition is true; evaluates it after every change.
        private static func until(
            _ live: LiveResults<FetchedRow>,
            _ isTrue: @escaping @MainActor (LiveResults<FetchedRow>) -> Bool
        ) async {
            while true {
                let (changes, change) = AsyncStream.makeStream(of: Void.self)
                let isDone = withObservationTracking {
                    isTrue(live)
                } onChange: {
                    change.yield()
                }
                if isDone { return }
                for await _ in changes { break }
            }
        }

        @Test func viewsSeeEveryStateAsAValue() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let live = LiveResults(client, request: Self.list)
                    #expect(live.rows.isEmpty && live.rows.revision == Revision(0))
                    var events: [Int] = []
                    live.onChange = { events.append($0.events.count) }
                    let running = Task { await live.run() }
                    await Self.until(live) { $0.status == .live }
                    let empty = live.rows
                    _ = try await client.transaction(.insert("a", "b"))
                    await Self.until(live) { $0.rows.count == 2 }
                    #expect(live.rows.map { $0.text("title") } == ["a", "b"] && empty.isEmpty)
                    #expect(events.contains { $0 > 0 })
                    try await live.change { client in
                        try await client.entity("Item").request(where: "title == 'b'", properties: ["title"])
                    }
                    await Self.until(live) { $0.rows.count == 1 }
                    #expect(live.rows.first?.text("title") == "b")
                    running.cancel()
                    await running.value
                    #expect(live.status == .idle && live.rows.count == 1)
                }
            }
        }

        @Test func aRefusedRequestIsTheStatus() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let live = LiveResults(client) { try await $0.entity("Itm").request() }
                    await live.run()
                    #expect(live.status == .failed && (live.error as? NestError)?.code == .unknownEntity)
                }
            }
        }

        /// What one searches for while the first rows are loading is what is shown.
        @Test func aChangeWhileLoadingIsNotLost() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    _ = try await client.transaction(.insert("a", "b"))
                    var isFirst = true
                    var live: LiveResults<FetchedRow>?
                    func list(_ title: String, _ client: NestClient) async throws -> NamedRequest {
                        try await client.entity("Item").request(where: "title == '\(title)'", properties: ["title"])
                    }
                    let results = LiveResults(client) { client in
                        if isFirst {
                            isFirst = false
                            try await live?.change { try await list("b", $0) }
                        }
                        return try await list("a", client)
                    }
                    live = results
                    let running = Task { await results.run() }
                    await Self.until(results) { $0.status == .live && $0.rows.count == 1 }
                    #expect(results.rows.map { $0.text("title") } == ["b"])
                    running.cancel()
                    await running.value
                }
            }
        }

        /// Nothing is written: the first run ends all the same.
        @Test func aLaterRunEndsTheFirst() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let live = LiveResults(client, request: Self.list)
                    let first = Task { await live.run() }
                    await Self.until(live) { $0.status == .live }
                    let second = Task { await live.run() }
                    await first.value
                    await Self.until(live) { $0.status == .live }
                    second.cancel()
                    await second.value
                }
            }
        }

        /// A refused request leaves the one before, also for a later run.
        @Test func aRefusedChangeChangesNothing() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    _ = try await client.transaction(.insert("a"))
                    let live = LiveResults(client, request: Self.list)
                    for _ in 0..<2 {
                        let running = Task { await live.run() }
                        await Self.until(live) { $0.status == .live }
                        let other = Task { try await live.change { try await $0.entity("Itm").request() } }
                        await #expect(throws: NestError.self) {
                            try await live.change { try await $0.entity("Itn").request() }
                        }
                        _ = await other.result
                        #expect(live.status == .live && live.rows.map { $0.text("title") } == ["a"])
                        running.cancel()
                        await running.value
                    }
                }
            }
        }

        /// A view that appears again before the task of its first appearance has ended.
        @Test func aLaterRunTakesOver() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let live = LiveResults(client, request: Self.list)
                    let first = Task { await live.run() }
                    await Self.until(live) { $0.status == .live }
                    first.cancel()
                    let second = Task { await live.run() }
                    await first.value
                    _ = try await client.transaction(.insert("a"))
                    await Self.until(live) { $0.rows.count == 1 }
                    #expect(live.status == .live)
                    second.cancel()
                    await second.value
                    #expect(live.status == .idle)
                }
            }
        }

        @Test func aTaskThatIsCancelledWhileLoadingIsIdle() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let live = LiveResults(client, request: Self.list)
                    let running = Task { await live.run() }
                    running.cancel()
                    await running.value
                    #expect(live.status == .idle && live.error == nil)
                }
            }
        }

        /// The same entity with its properties under other numbers.
        private nonisolated static let otherModel = ManagedObjectModel(entities: [
            EntityDescription(
                number: 4,
                name: "Item",
                attributes: [AttributeDescription(number: 7, name: "title", type: .string)],
                relationships: [
                    RelationshipDescription(
                        number: 8,
                        name: "parent",
                        destination: 4,
                        inverse: 9,
                        deleteRule: .nullify
                    ),
                    RelationshipDescription(
                        number: 9,
                        name: "children",
                        destination: 4,
                        inverse: 8,
                        isToMany: true,
                        isOrdered: true,
                        deleteRule: .cascade
                    ),
                ],
                root: RootDescription(object: ObjectID(1), relationship: PropertyNumber(8))
            )
        ])

        /// When the server returns with another model, the request is made again by its names.
        @Test func rowsLiveThroughAnotherModel() async throws {
            let (seen, saw) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                let isFirst = server.number == 0
                let model = isFirst ? ManagedObjectModel.nestedList : Self.otherModel
                try await server.welcome(revision: 5, modelHash: model.hash)
                try await server.send(ModelMessage(model), id: try await server.expect(GetModel.self).id)
                let (id, message) = try await server.expect(Subscribe.self)
                #expect(message.request.entity == (isFirst ? EntityNumber(1) : EntityNumber(4)))
                #expect(message.request.projection == [PropertyNumber(isFirst ? 1 : 7)])
                var state = Fixtures.state(isFirst ? 3 : 4, [Fixtures.row(2, isFirst ? "old" : "new")])
                state.projection = message.request.projection
                let subscribed = Fixtures.subscribed(Limits.viewIDMin, .snapshot, projection: state.projection)
                try await server.send(subscribed, id: id)
                try await server.sendSnapshot(state, id: Limits.viewIDMin)
                if isFirst { for await _ in seen { return } }
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    await Self.followThroughAnotherModel(client) { saw.yield() }
                }
            }
        }

        private static func followThroughAnotherModel(_ client: NestClient, onFirst: () -> Void) async {
            let live = LiveResults(client, request: Self.list)
            let running = Task { await live.run() }
            await Self.until(live) { $0.rows.first?.text("title") == "old" }
            onFirst()
            await Self.until(live) { $0.rows.first?.text("title") == "new" }
            running.cancel()
            await running.value
        }
    }
}
