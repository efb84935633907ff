import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    @Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing")) struct ClusterKills {
        private static let kills = ProcessInfo.processInfo.environment["NEST_CLUSTER_KILLS"].flatMap { Int($0) } ?? 3

        /// Kills the leader of three nodes again and again while clients write to all of them, and at the end all
        /// nodes: every acknowledged write is there, no write is there twice or in part, and the three stores are equal
        /// table by table.
        ///
        /// The writers have one address each. Their nodes forward their writes; the library sends unanswered writes
        /// again with the same key.
        @Test func killsOfTheLeaderLoseNoAcknowledgedWrite() async throws {
            let seed = ProcessInfo.processInfo.environment["NEST_SEED"].flatMap { UInt64($0) } ?? 1
            var random = SeededRandom(seed: seed)
            let cluster = try await ClusterServers.started()
            let observer = NestClient(await cluster.nodes[0].configuration())
            let list = try #require(
                try await observer.transaction(WriteTransaction(mutations: [Item.insert("list", under: Item.root)]))
                    .firstInserted
            )
            let progress = ProgressCounter()
            var writers: [CrashWriter] = []
            for number in 0..<6 {
                writers.append(
                    await CrashWriter(
                        "w\(number)",
                        seed: seed << 8 | UInt64(number),
                        isSteady: true,
                        list: list,
                        cluster.nodes[number % cluster.nodes.count],
                        progress
                    )
                )
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in writers { group.addTask { try await writer.run() } }
                for _ in 0..<Self.kills {
                    try await progress.wait(for: await progress.count + 10 + random.below(60))
                    let leader = cluster.nodes[try await cluster.leader()]
                    try await leader.killNow()
                    // Another node leads before the killed one is back.
                    try await progress.wait(for: await progress.count + 10)
                    try await leader.start()
                }
                for writer in writers { await writer.stop() }
                try await group.waitForAll()
            }

            // All nodes at once, as when the power fails.
            for node in cluster.nodes { try await node.killNow() }
            for node in cluster.nodes { try await node.start() }

            var expected: [ObjectID: String] = [:]
            for writer in writers { expected.merge(await writer.titles) { first, _ in first } }
            let stored = try await observer.fetch(Item.childrenOf(list)).titles
            #expect(expected.filter { stored[$0.key] != $0.value } == [:], "seed \(seed)")
            #expect(stored.filter { expected[$0.key] != $0.value } == [:], "seed \(seed)")
            await observer.close()

            let dumps = try await cluster.equalPositions()
            #expect(dumps[0].count > 5 && dumps[0]["nest_journal"]?.isEmpty == false)
            for dump in dumps.dropFirst() {
                #expect(Set(dump.keys) == Set(dumps[0].keys), "seed \(seed)")
                for (table, rows) in dumps[0] {
                    #expect(dump[table] == rows, "seed \(seed): the table \(table) differs")
                }
            }
            for node in cluster.nodes { try await node.terminate() }
        }
    }
}
