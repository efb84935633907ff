import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Moving the lead, and draining nodes.
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterMoveTests {
        /// The lead moves there and back while a client writes: every write is acknowledged, and is there once.
        @Test func theLeadMovesUnderLoad() async throws {
            let world = try await ClusterWorld.begun()
            var nodes: [String: ServerProcess] = [:]
            for name in ["a", "b"] { nodes[name] = try await world.started(name) }
            var leader = try await world.leader()
            let entrance = try #require(nodes[leader])
            let isDone = NIOLockedValueBox(false)
            let writing = Task {
                var titles: [String] = []
                while !isDone.withLockedValue({ $0 }) {
                    let title = "\(titles.count)"
                    try await entrance.insert(title, key: Identifier128(high: 1, low: UInt64(titles.count)))
                    titles.append(title)
                }
                return titles
            }
            for _ in 0..<2 {
                let target = leader == "a" ? "b" : "a"
                try await self.asking(try #require(nodes[leader])) { try await self.moveLead(to: target, $0) }
                #expect(try await world.leader(after: leader) == target)
                leader = target
            }
            try await self.asking(try #require(nodes[leader])) { client in
                try await client.moveLeader(to: leader)
                let error = await #expect(throws: NestError.self) { try await client.moveLeader(to: "x") }
                #expect(error?.code == .notFound && error?.message.contains("only a, b") == true)
            }
            isDone.withLockedValue { $0 = true }
            let titles = try await writing.value
            #expect(!titles.isEmpty)
            for node in nodes.values { try await node.shows(titles) }
            // A node that has stopped cannot take it.
            let other = leader == "a" ? "b" : "a"
            try await nodes[other]?.killNow()
            try await world.sql("UPDATE nest.node SET expires = clock_timestamp() WHERE name = '\(other)'")
            try await self.asking(try #require(nodes[leader])) { client in
                let error = await #expect(throws: NestError.self) { try await client.moveLeader(to: other) }
                #expect(error?.code == .conflict && error?.message.contains("not alive") == true)
            }
            try await nodes[leader]?.terminate()
        }

        /// Moves the lead as soon as the node does not lag: under load it says late where it is.
        private func moveLead(to target: String, _ client: NestClient) async throws {
            _ = try await waitFor("\(target) can lead") { () -> Bool? in
                do {
                    try await client.moveLeader(to: target)
                    return true
                } catch let error as NestError where error.code == .conflict && error.message.contains(" lags: ") {
                    return nil
                }
            }
        }

        /// A drained leader gives the lead to another node and sends its clients there; only operators get answers.
        @Test func aDrainedNodeSendsItsClientsToAnother() async throws {
            let world = try await ClusterWorld.begun()
            let first = try await world.started("a")
            try await world.leader()
            try await self.asking(first) { client in
                let error = await #expect(throws: NestError.self) { try await client.drain() }
                #expect(error?.code == .conflict && error?.message.contains("no other node") == true)
            }
            let second = try await world.started("b")
            try await first.insert("before")
            try await second.shows(["before"])

            let reader = NestClient(await first.configuration())
            try await reader.withFetchedResults(Item.childrenOf(Item.root)) { results in
                var changes = results.makeAsyncIterator()
                _ = try await changes.next()
                try await self.asking(first) { try await $0.drain() }
                #expect(try await world.leader() == "b")
                try await second.insert("after")
                try await self.checkDrained(first, second)
                try await self.asking(first) { try await $0.drain(false) }
                while !results.state.titles.values.contains("after") { _ = try await changes.next() }
            }
            await reader.close()
            try await first.shows(["after", "before"])
            try await second.terminate()
            #expect(try await world.leader(after: "b") == "a")
            try await first.terminate()
        }

        private func checkDrained(_ first: ServerProcess, _ second: ServerProcess) async throws {
            // The subscription has ended, although its client connects again and again.
            try await self.asking(first) { client in
                _ = try await waitFor("the end of the subscription") {
                    try await client.clients().allSatisfy { $0.subscriptions == 0 } ? true : nil
                }
            }
            // It still serves operators, and is not given the lead.
            try await self.asking(first) { client in
                let status = try await client.cluster()
                #expect(status?.isDrained == true && status?.role == .follower)
            }
            try await self.asking(second) { client in
                let move = await #expect(throws: NestError.self) { try await client.moveLeader(to: "a") }
                #expect(move?.code == .conflict && move?.message.contains("drained") == true)
                let drain = await #expect(throws: NestError.self) { try await client.drain() }
                #expect(drain?.code == .conflict)
            }
            try await self.asking(first, timeout: .seconds(2)) { client in
                let refused = await #expect(throws: NestError.self) {
                    try await client.fetch(Item.childrenOf(Item.root))
                }
                #expect(refused != nil)
            }
        }

        /// Asks a node itself, as an operator.
        private func asking(
            _ node: ServerProcess,
            timeout: Duration = .seconds(10),
            _ body: (NestClient) async throws -> Void
        ) async throws {
            var configuration = await node.configuration(requestTimeout: timeout)
            configuration.followsLeader = false
            let client = NestClient(configuration)
            do {
                try await body(client)
            } catch {
                await client.close()
                throw error
            }
            await client.close()
        }
    }
}
