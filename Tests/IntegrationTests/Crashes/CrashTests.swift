import NestClient
import NestModel
import NestTestSupport
import Testing
import NestSchema

extension ProcessTests {
    @Suite struct Crashes {
        /// Repeated `kill -9` during writes: acknowledged writes are stored, no write is stored partially, a retry with
        /// the same key is executed once, and subscribers end with the stored state. To replay a failure, put its seed
        /// alone in the list. The kill happens after a number of replies, so it is nearly at the same moment.
        @Test(arguments: Array(1...5) as [UInt64])
        func killsLoseNoAcknowledgedWriteAndRepeatNone(seed: UInt64) async throws {
            var random = SeededRandom(seed: seed)
            let server = try await ServerProcess.started()
            let observer = NestClient(await server.configuration())
            let list = try #require(
                try await observer.transaction(WriteTransaction(mutations: [Item.insert("list", under: Item.root)]))
                    .firstInserted
            )
            let progress = ProgressCounter()
            var writers: [CrashWriter] = []
            for number in 0..<6 {
                let writer = await CrashWriter(
                    "w\(number)",
                    seed: seed << 8 | UInt64(number),
                    isSteady: number % 2 == 0,
                    list: list,
                    server,
                    progress
                )
                writers.append(writer)
            }
            let configuration = await server.configuration()
            async let watched = Self.watch(list, configuration)
            async let watchedRoot = Self.watch(Item.root, configuration)

            for round in 0..<3 {
                let target = await progress.count + 20 + random.below(60)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in writers { group.addTask { try await writer.run() } }
                    try await progress.wait(for: target)
                    try await server.killNow()
                    for writer in writers { await writer.giveUpConnection() }
                    try await server.start()
                    // Steady writers continue meanwhile; any state must have only complete batches.
                    let state = try await observer.fetch(Item.childrenOf(list))
                    Self.expectWhole(state.titles, "seed \(seed), round \(round)")
                    for writer in writers {
                        await writer.stop()
                        await writer.reconnect()
                    }
                    try await group.waitForAll()
                }
                // Writers with an unanswered batch retry it with the same key.
                for writer in writers { try await writer.run() }
                let state = try await observer.fetch(Item.childrenOf(list))
                var expected: [ObjectID: String] = [:]
                for writer in writers { expected.merge(await writer.titles) { first, _ in first } }
                let titles = state.titles
                #expect(expected.filter { titles[$0.key] != $0.value } == [:], "seed \(seed), round \(round)")
                #expect(titles.filter { expected[$0.key] != $0.value } == [:], "seed \(seed), round \(round)")
                for writer in writers { await writer.begin() }
            }

            try await Self.expectDense(list, observer)
            // The subscribers wait for the last write of their list.
            for owner in [list, Item.root] {
                _ = try await observer.transaction(WriteTransaction(mutations: [Item.insert("end", under: owner)]))
            }
            let (near, far) = (try await watched, try await watchedRoot)
            #expect(near.sections == (try await observer.fetch(Item.childrenOf(list)).sections), "seed \(seed)")
            #expect(far.sections == (try await observer.fetch(Item.childrenOf(Item.root)).sections), "seed \(seed)")
            await observer.close()
        }

        /// Follows a list until its last write, across lost connections, and checks each state's digest.
        private static func watch(_ list: ObjectID, _ configuration: ClientConfiguration) async throws
            -> SectionedSnapshot
        {
            let client = NestClient(configuration)
            let state = try await client.withFetchedResults(Item.childrenOf(list), verifyDigest: true) { results in
                for try await change in results {
                    if case .reset(let reset) = change { #expect(reset.cause == .server, "\(reset)") }
                    if results.state.titles.values.contains("end") { break }
                }
                return results.state
            }
            await client.close()
            return state
        }

        /// Checks that each batch of three is stored completely or not at all.
        private static func expectWhole(_ titles: [ObjectID: String], _ comment: Comment) {
            var counts: [Substring: Int] = [:]
            for title in titles.values where title.contains("/3") {
                counts[title.prefix { $0 != " " }, default: 0] += 1
            }
            #expect(counts.filter { $0.value != 3 } == [:], comment)
        }

        /// Checks that exactly the indexes 0...n are accepted, so that the order has no gap.
        private static func expectDense(_ list: ObjectID, _ client: NestClient) async throws {
            let count = try await client.fetch(Item.childrenOf(list)).total
            let beyond = WriteTransaction(mutations: [Item.insert("beyond", under: list, .at(count + 1))])
            let error = await #expect(throws: NestError.self) { try await client.transaction(beyond) }
            #expect(error?.code == .indexOutOfRange)
            for index in [0, count / 2, count + 2] {
                let mutation = Item.insert("at \(index)", under: list, .at(index))
                let receipt = try await client.transaction(WriteTransaction(mutations: [mutation]))
                let rows = try await client.fetch(Item.childrenOf(list)).rows
                #expect(rows.firstIndex { $0.id == receipt.firstInserted } == index)
            }
        }
    }
}
