import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterOptimisticTests {
        private static let kills = ProcessInfo.processInfo.environment["NEST_CLUSTER_KILLS"].flatMap { Int($0) } ?? 4

        /// Two optimistic clients write to one list while the leader and other nodes are killed. Their lists go on at
        /// another node: no row flickers, and in the end all show what all nodes have.
        @Test func listsWithPendingWritesGoOnAtOtherNodes() async throws {
            let seed = ProcessInfo.processInfo.environment["NEST_SEED"].flatMap { UInt64($0) } ?? 1
            var random = SeededRandom(seed: seed)
            let cluster = try await ClusterServers.started()
            let observer = NestClient(await cluster.nodes[0].configuration())
            let list = try #require(
                try await observer.transaction(WriteTransaction(mutations: [Item.insert("list", under: Item.root)]))
                    .firstInserted
            )
            let progress = ProgressCounter()
            var (typists, clients): ([OptimisticTypist], [NestClient]) = ([], [])
            for number in 0..<2 {
                var configuration = await cluster.nodes[0].configuration()
                configuration.endpoints = []
                for index in cluster.nodes.indices {
                    let port = await cluster.nodes[(index + number) % cluster.nodes.count].port
                    configuration.endpoints.append(ServerAddress(host: "127.0.0.1", port: port))
                }
                configuration.reconnectPauseMax = .milliseconds(200)
                let client = NestClient(configuration)
                clients.append(client)
                let own = seed << 8 | UInt64(number)
                typists.append(try await OptimisticTypist("typist\(number)", seed: own, list: list, client, progress))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for typist in typists { group.addTask { try await typist.run() } }
                for turn in 0..<Self.kills {
                    try await progress.wait(for: await progress.count + 10 + random.below(60))
                    // In every other turn the leader.
                    let index = turn % 2 == 0 ? try await cluster.leader() : random.below(cluster.nodes.count)
                    try await cluster.nodes[index].killNow()
                    try await progress.wait(for: await progress.count + 10)
                    try await cluster.nodes[index].start()
                }
                for typist in typists { await typist.stop() }
                for typist in typists { try await waitUntil("all to be settled") { await typist.isSettled } }
                let newest = try await observer.fetch(Item.childrenOf(list), atLeast: .newest)
                for typist in typists {
                    try await waitUntil("the newest rows, seed \(seed)") { await typist.rows == newest.rows }
                    await typist.end()
                }
                try await group.waitForAll()
            }

            var expected: [ObjectID: String] = [:]
            for typist in typists { expected.merge(await typist.expected) { first, _ in first } }
            let newest = try await observer.fetch(Item.childrenOf(list), atLeast: .newest)
            #expect(newest.titles == expected, "seed \(seed)")
            for node in cluster.nodes {
                let client = NestClient(await node.configuration())
                let rows = try await client.fetch(Item.childrenOf(list), atLeast: .newest).rows
                #expect(rows == newest.rows, "seed \(seed)")
                await client.close()
            }
            for typist in typists {
                let counts = await typist.counts.sorted { $0.key < $1.key }
                print("typist: \(counts.map { "\($0.value) \($0.key)" }.joined(separator: ", "))")
            }
            for client in clients + [observer] { await client.close() }
            for node in cluster.nodes { try await node.terminate() }
        }
    }
}
