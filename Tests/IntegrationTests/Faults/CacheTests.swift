import Logging
import NestCache
import NestClient
import NestModel
import NestTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

extension ProcessTests {
    /// A client that begins with the lists of its last run, beside a nestd that comes and goes.
    @Suite struct Caches {
        private let directory = TemporaryDirectory()

        private var list: ObjectFetchRequest { Item.childrenOf(Item.root) }

        private func configuration(_ server: ServerProcess) async throws -> ClientConfiguration {
            var configuration = await server.configuration()
            configuration.reconnectPauseMax = .milliseconds(200)
            configuration.cache = try CacheFile(
                path: "\(self.directory.path)/lists",
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            return configuration
        }

        /// Runs `body` with a client that is not connected yet.
        private func withClient<Result>(
            _ server: ServerProcess,
            _ body: (NestClient) async throws -> Result
        ) async throws -> Result {
            let client = NestClient(try await self.configuration(server))
            do {
                let result = try await body(client)
                await client.close()
                return result
            } catch {
                await client.close()
                throw error
            }
        }

        private func insert(_ titles: [String], _ server: ServerProcess) async throws {
            try await NestClient.withClient(await server.configuration()) { client in
                let mutations = titles.map { Item.insert($0, under: Item.root) }
                _ = try await client.transaction(WriteTransaction(mutations: mutations))
            }
        }

        /// Starts a server with a hundred items, and lets a client show them.
        private func shown() async throws -> (server: ServerProcess, state: SectionedSnapshot) {
            let server = try await ServerProcess.started()
            try await self.insert((1...100).map { "item \($0)" }, server)
            let state = try await self.withClient(server) { client in
                try await client.withFetchedResults(self.list, verifyDigest: true) { results in
                    var changes = results.makeAsyncIterator()
                    let first = try await changes.next()
                    #expect(first == .snapshot(.first))
                    #expect(results.isCurrent)
                    return results.state
                }
            }
            return (server, state)
        }

        @Test func aListIsShownWithoutAServerAndThenGetsTheDifference() async throws {
            let (server, state) = try await self.shown()
            try await server.killNow()
            try await self.withClient(server) { client in
                try await client.withFetchedResults(self.list, verifyDigest: true) { results in
                    var changes = results.makeAsyncIterator()
                    #expect(!results.isCurrent)
                    let first = try await changes.next()
                    #expect(first == .snapshot(.first))
                    #expect(results.state == state && !results.isCurrent)
                    guard case .disconnected = try await changes.next() else {
                        Issue.record("the list is not disconnected")
                        return
                    }
                    #expect(results.state == state && !results.isCurrent)
                    // Requests and connects fail as without a cache, and the list stays.
                    await #expect(throws: NestError.self) { try await client.connect() }
                    await #expect(throws: NestError.self) { try await client.fetch(self.list) }
                    #expect(results.state == state)

                    try await server.start()
                    try await self.insert(["one more"], server)
                    while !results.isCurrent || results.state.total == 100 {
                        switch try await changes.next() {
                        case .snapshot, .reset: Issue.record("the server sends a snapshot")
                        default: break
                        }
                    }
                    let fetched = try await client.fetch(self.list)
                    #expect(results.state.sections == fetched.sections)
                }
            }
            try await server.killNow()
        }

        @Test func aListThatHasNotChangedIsConfirmed() async throws {
            let (server, state) = try await self.shown()
            try await self.withClient(server) { client in
                try await client.withFetchedResults(self.list, verifyDigest: true) { results in
                    var changes = results.makeAsyncIterator()
                    let first = try await changes.next()
                    #expect(first == .snapshot(.first))
                    #expect(results.state == state && !results.isCurrent)
                    let resumed = try await changes.next()
                    #expect(resumed == .resumed(state.revision))
                    #expect(results.state == state && results.isCurrent)
                }
            }
            try await server.killNow()
        }

        /// Names, live rows and tables have the state too.
        @Test func listsByNameAreShownWithoutAServer() async throws {
            let (server, _) = try await self.shown()
            @MainActor func list(_ client: NestClient) async throws -> NamedRequest {
                let item = try await client.entity("Item")
                return try item.request(where: "parent == \(Item.root)", sort: "order", properties: ["title"])
            }
            try await self.withClient(server) { client in
                // Only what was connected before knows the model.
                try await client.withFetchedResults(try await list(client)) { results in
                    for try await change in results where change.isCurrent { break }
                }
            }
            try await server.killNow()
            try await self.withClient(server) { client in
                try await client.withFetchedResults(try await list(client)) { results in
                    for try await change in results {
                        #expect(change.rows.map { $0.text("title") }.prefix(2) == ["item 1", "item 2"])
                        #expect(!change.isCurrent)
                        break
                    }
                }
                try await self.showLive(client, list)
            }
        }

        @MainActor private func showLive(
            _ client: NestClient,
            _ list: @escaping @MainActor (NestClient) async throws -> NamedRequest
        ) async throws {
            let live = LiveResults(client, as: FetchedRow.self) { client in try await list(client) }
            var statuses: [LiveResults<FetchedRow>.Status] = []
            live.onChange = { _ in statuses.append(live.status) }
            let running = Task { await live.run() }
            try await waitUntil("a lost connection") { statuses.count >= 2 }
            running.cancel()
            await running.value
            #expect(statuses.first == .cached && live.rows.count == 100)
            if case .disconnected = statuses[1] {} else { Issue.record("\(statuses)") }
        }

        /// Rows and fold states are there without a server, and so is what can be undone. Then comes the difference.
        @Test func anOutlineIsShownWithoutAServerWithItsFoldStatesAndUndoNames() async throws {
            let (server, _) = try await self.shown()
            let session = ClientSession.secret(Identifier128(high: 1, low: 2))
            func run<Result>(_ body: (NestClient) async throws -> Result) async throws -> Result {
                var configuration = try await self.configuration(server)
                configuration.session = session
                let client = NestClient(configuration)
                do {
                    let result = try await body(client)
                    await client.close()
                    return result
                } catch {
                    await client.close()
                    throw error
                }
            }
            var request = self.list
            request.window = .range(offset: 0, limit: 200)
            request.outline = FetchOutline()
            request.sort = []
            let (parent, state) = try await run { client in
                let inserted = try await client.transaction(
                    WriteTransaction(mutations: [Item.insert("parent", under: Item.root, .first)])
                )
                let parent = try #require(inserted.results.first?.ids.first)
                let child = WriteTransaction(name: "new child", mutations: [Item.insert("child", under: parent)])
                let last = try await client.transaction(child).revision
                for try await undo in client.undoStates() where undo.undo?.name == "new child" { break }
                return try await client.withOutline(request, verifyDigest: true) { outline in
                    try await outline.setExpanded(parent, true)
                    for try await change in outline
                    where change.state.revision >= last && change.state.rows.count == 102 { break }
                    return (parent, outline.state)
                }
            }
            try await server.killNow()
            try await run { client in
                var undo = client.undoStates().makeAsyncIterator()
                let last = try await undo.next()
                #expect(last?.undo?.name == "new child")
                try await client.withOutline(request, verifyDigest: true) { outline in
                    var changes = outline.makeAsyncIterator()
                    let first = try #require(try await changes.next())
                    #expect(first.event == .snapshot(.first) && first.state.rows == state.rows)
                    #expect(first.state.rows.first?.isExpanded == true && first.state.rows[1].depth == 1)
                    #expect(!outline.isCurrent)
                    try await server.start()
                    try await self.insert(["one more"], server)
                    while !outline.isCurrent || outline.state.rows.count < 103 {
                        let change = try #require(try await changes.next())
                        switch change.event {
                        case .snapshot, .reset: Issue.record("\(change.event)")
                        default: #expect(change.state.rows.first?.id == parent && change.state.rows.count >= 102)
                        }
                    }
                    let current = await outline.currentRequest()
                    #expect(current.outline?.exceptions == [parent])
                    let fetched = try await client.fetch(current)
                    #expect(outline.state.rows == OutlineState(fetched)?.rows)
                }
            }
            try await server.killNow()
        }

        @Test func aRestoredStoreHasAnotherHistoryAndTheStateIsDroppedWithTheReason() async throws {
            let (server, state) = try await self.shown()
            let copy = "\(server.directory.path)/copy.sqlite"
            let user = await CommandLineUser(server)
            _ = try await user.output("backup", copy, "--json")
            try await server.terminate()
            for suffix in ["-wal", "-shm"] { unlink(server.storePath + suffix) }
            #expect(rename(copy, server.storePath) == 0)
            // Before it can be reached, the state is shown; then it is dropped.
            try await self.withClient(server) { client in
                try await client.withFetchedResults(self.list, verifyDigest: true) { results in
                    var changes = results.makeAsyncIterator()
                    let first = try await changes.next()
                    #expect(first == .snapshot(.first))
                    #expect(results.state == state && !results.isCurrent)
                    try await server.start()
                    var resets: [ResultsReset] = []
                    while !results.isCurrent {
                        if case .reset(let reset) = try await changes.next() { resets.append(reset) }
                    }
                    #expect(resets.map(\.cause) == [.cache])
                    #expect(resets.allSatisfy { $0.message.contains("another history") })
                    #expect(results.state.sections == state.sections)
                }
                // The next subscription has the new state.
                try await client.withFetchedResults(self.list) { results in
                    var changes = results.makeAsyncIterator()
                    let first = try await changes.next()
                    #expect(first == .snapshot(.first))
                    #expect(!results.isCurrent)
                    guard case .resumed = try await changes.next() else {
                        Issue.record("the state of the cache is not confirmed")
                        return
                    }
                    #expect(results.isCurrent)
                }
            }
            try await server.killNow()
        }

        @Test func anotherModelDropsTheState() async throws {
            func model(_ more: String) -> String {
                """
                {"format": "nest-model", "version": 1, "entities": [
                  {"name": "Fact", "attributes": [{"name": "text", "type": "string"}\(more)]}
                ]}
                """
            }
            let server = try await ServerProcess.started(model: model(""))
            func request(_ client: NestClient) async throws -> NamedRequest {
                try await client.entity("Fact").request(properties: ["text"])
            }
            try await self.withClient(server) { client in
                let context = ObjectContext(client)
                try context.insert(try await client.entity("Fact"), ["text": "a fact"])
                try await context.save()
                try await client.withFetchedResults(try await request(client)) { results in
                    for try await change in results where change.isCurrent { break }
                }
            }
            try await server.terminate()
            // The new model extends the old one: the state is dropped, and the list goes on.
            try await server.replaceModel(model(#", {"name": "source", "type": "string", "optional": true}"#))
            try await self.withClient(server) { client in
                try await client.withFetchedResults(try await request(client)) { results in
                    var changes = results.makeAsyncIterator()
                    let first = try #require(try await changes.next())
                    #expect(first.rows.map { $0.text("text") } == ["a fact"] && !first.isCurrent)
                    try await server.start()
                    var resets: [String] = []
                    while let change = try await changes.next(), !change.isCurrent {
                        if case .reset(let reset) = change.change { resets.append(reset.message) }
                    }
                    #expect(resets == ["the cached state is of another model"])
                    #expect(results.results.state.total == 1)
                }
            }
            try await server.killNow()
        }

        /// Programs that show lists at random moments, are killed or closed, beside a server that is killed and
        /// writes: what a list shows when it is current is what a fetch returns.
        @Test(arguments: Seeds.range(1..<3)) func randomRunsEndWithTheStateOfAFetch(_ seed: UInt64) async throws {
            print("seed \(seed)")
            var random = SeededRandom(seed: seed)
            let server = try await ServerProcess.started()
            try await self.insert((1...30).map { "item \($0)" }, server)
            var counts = Counts()
            for step in 0..<Seeds.steps(40) {
                let label = "seed \(seed), step \(step)"
                if random.oneIn(6) { try await server.restart() }
                let isAway = random.oneIn(5)
                if isAway { try await server.killNow() }
                let client = NestClient(try await self.configuration(server))
                try await self.show(client, isAway: isAway, &random, &counts, label)
                // Else the program ends without a word: what the cache has not written is lost.
                if random.oneIn(2) { await client.close() }
                if isAway { try await server.start() }
            }
            #expect(!Seeds.isUsual || counts.cached > 5 && counts.differences > 2, "\(counts)")
            try await server.killNow()
        }

        private struct Counts {
            var cached = 0
            var differences = 0
            var resets = 0
        }

        private func show(
            _ client: NestClient,
            isAway: Bool,
            _ random: inout SeededRandom,
            _ counts: inout Counts,
            _ label: String
        ) async throws {
            var request = self.list
            if random.oneIn(2) { request.window = .range(offset: random.below(4) * 5, limit: 10) }
            let writes = isAway ? 0 : random.below(6)
            let seed = random.next()
            try await client.withFetchedResults(request, verifyDigest: true) { results in
                var changes = results.makeAsyncIterator()
                do {
                    guard try await changes.next() == .snapshot(.first) else { return }
                } catch  where isAway {
                    // There is no server, and the list was never shown.
                    return
                }
                if !results.isCurrent { counts.cached += 1 }
                guard !isAway else { return }
                var random = SeededRandom(seed: seed)
                var last = results.state.revision
                for number in 0..<writes {
                    let fetched = try await client.fetch(self.list)
                    let ids = fetched.rows.map(\.id)
                    let mutation: Mutation =
                        switch (random.below(3), ids.randomElement(using: &random)) {
                        case (0, let id?): .delete(.object(id))
                        case (1, let id?): Item.rename(id, "renamed \(number) \(random.below(1_000))")
                        default: Item.insert("new \(random.below(1_000))", under: Item.root, .at(random.below(10)))
                        }
                    last = try await client.transaction(WriteTransaction(mutations: [mutation])).revision
                }
                while !results.isCurrent || results.state.revision < last {
                    switch try await changes.next() {
                    case .diff: counts.differences += 1
                    case .reset(let reset):
                        counts.resets += 1
                        #expect(reset.cause == .server, "\(label): \(reset.message)")
                    default: break
                    }
                }
                let fetched = try await client.fetch(request, atLeast: last)
                #expect(results.state.sections == fetched.sections, "\(label)")
            }
        }
    }
}
