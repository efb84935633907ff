import ChaosProxy
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

@testable import NestClient

extension SocketTests {
    /// An outline of an optimistic client with a cache, against a real server behind a proxy that holds back what it
    /// sends.
    struct CachedOptimisticOutlineTests {
        private func titles(_ state: OptimisticState) -> [String] {
            guard let outline = OutlineState(state.snapshot), let title = outline.projection.firstIndex(of: .init(1))
            else { return ["no outline"] }
            return outline.rows.map { row in
                let text: String = if case .string(let text) = row.values[title] { text } else { "?" }
                return String(repeating: " ", count: row.depth) + text
            }
        }

        private func configuration(_ proxy: ChaosProxy, _ cache: SharedCache) async -> ClientConfiguration {
            var configuration = Fixtures.configuration(await proxy.port)
            configuration.cache = cache
            return configuration
        }

        private var request: ObjectFetchRequest {
            var request = ObjectFetchRequest.rootChildren
            request.outline = FetchOutline()
            return request
        }

        /// Shows rows with one below another, and ends.
        private func firstRun(_ configuration: ClientConfiguration) async throws -> ObjectID {
            try await NestClient.withClient(configuration) { client in
                let receipt = try await client.transaction(.insert("a", "b"))
                let parent = try #require(receipt.results.first?.ids.first)
                let item = try await client.entity("Item")
                let context = ObjectContext(client)
                try context.insert(item, ["title": "below"], under: parent)
                try await context.save()
                let optimistic = try await client.optimistic()
                try await optimistic.withOutline(self.request) { outline in
                    try await outline.setExpanded(parent, true)
                    for try await state in outline.states
                    where state.isCurrent && self.titles(state) == ["a", " below", "b"] { break }
                }
                return parent
            }
        }

        @Test func theLastRowsAreThereAtOnceWithOwnWritesOverThem() async throws {
            try await withServer { port, _ in
                let proxy = try await ChaosProxy.start(to: .init(port: port))
                let cache = SharedCache()
                let parent = try await self.firstRun(await self.configuration(proxy, cache))
                try await NestClient.withClient(await self.configuration(proxy, cache)) { client in
                    let optimistic = try await client.optimistic()
                    await proxy.follow(.fixed(try Faults("stall to-client")))
                    try await optimistic.withOutline(self.request) { outline in
                        var states = outline.states.makeAsyncIterator()
                        let first = try #require(try await states.next())
                        #expect(self.titles(first) == ["a", " below", "b"] && !first.isCurrent)
                        let write = try optimistic.write(WriteTransaction(mutations: [.delete(.object(parent))]))
                        while let state = try await states.next() {
                            #expect(!state.isCurrent)
                            if self.titles(state) == ["b"] { break }
                        }
                        await proxy.follow(.fixed(.none))
                        _ = try await write.receipt()
                        while let state = try await states.next() {
                            #expect(self.titles(state) == ["b"])
                            if state.isCurrent, state.pending.isEmpty { break }
                        }
                    }
                }
                await proxy.stop()
            }
        }
    }
}
