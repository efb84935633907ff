import Foundation
import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Writes that are shown at once, and servers that are killed.
    @Suite struct OptimisticCrashes {
        private static let kills = 4

        /// Two optimistic clients write to one list while the server is killed and started again. No row flickers, no
        /// write is lost or made twice, and in the end both show what the server has.
        @Test func listsWithPendingWritesGoOnAfterKill9() async throws {
            let seed = ProcessInfo.processInfo.environment["NEST_SEED"].flatMap { UInt64($0) } ?? 1
            var random = SeededRandom(seed: seed)
            let server = try await ServerProcess.started()
            var configuration = await server.configuration()
            configuration.reconnectPauseMax = .milliseconds(200)
            let observer = NestClient(configuration)
            let list = try #require(
                try await observer.transaction(WriteTransaction(mutations: [Item.insert("list", under: Item.root)]))
                    .firstInserted
            )
            let progress = ProgressCounter()
            var (typists, clients): ([OptimisticTypist], [NestClient]) = ([], [])
            for number in 0..<2 {
                let client = NestClient(configuration)
                clients.append(client)
                let own = seed << 8 | UInt64(number)
                typists.append(try await OptimisticTypist("typist\(number)", seed: own, list: list, client, progress))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for typist in typists { group.addTask { try await typist.run() } }
                for _ in 0..<Self.kills {
                    try await progress.wait(for: await progress.count + 10 + random.below(60))
                    try await server.restart()
                }
                try await progress.wait(for: await progress.count + 10)
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
            for client in clients + [observer] { await client.close() }
            try await server.terminate()
        }
    }
}
