import ChaosProxy
import Foundation
import NestClient
import NestHistory
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// A client whose network stalls until the server can send nothing more, while others write. The events after the
    /// stall are checked as in a chaos run.
    ///
    /// `NEST_CHAOS_SEED` repeats the edits.
    @Suite struct SlowReaders {
        /// The number of writes after the server has noticed that the client does not read. It is low enough for a net
        /// diff: above 4 x `Limits.differenceRowsMin` changed rows, about 200 of these writes, the server sends a
        /// snapshot.
        private static let writesMissed = 120

        private let seed: UInt64
        private let server: ServerProcess
        private let writer: NestClient
        private let ledger: ChaosLedger
        private let proxy: ChaosProxy

        init() async throws {
            self.seed =
                ProcessInfo.processInfo.environment["NEST_CHAOS_SEED"].flatMap(UInt64.init)
                ?? UInt64.random(in: 1...1_000_000)
            print("slow reader: NEST_CHAOS_SEED=\(self.seed)")
            self.server = try await ServerProcess.started()
            self.writer = NestClient(await self.server.configuration())
            let write = Write(name: "list", mutations: [ListModel.insert("list", under: ListModel.root)])
            let receipt = try await self.writer.transaction(
                WriteTransaction(name: write.name, mutations: write.mutations)
            )
            self.ledger = ChaosLedger(list: try #require(receipt.firstInserted))
            self.proxy = try await ChaosProxy.start(to: .init(port: await self.server.port), seed: self.seed)
            await self.ledger.add(write.answered(receipt))
        }

        @Test func mergedDiffsOfASlowReaderAreCorrect() async throws {
            var writes = ChaosSoloWrites(self.writer, self.ledger, SeededRandom(seed: self.seed))
            for _ in 0..<30 { try await writes.edit() }
            let queries = try await self.queries()
            var configuration = await self.server.configuration()
            configuration.port = await self.proxy.port
            let (reader, ledger, begun) = (NestClient(configuration), self.ledger, writes)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for query in queries {
                    group.addTask { try await ChaosSubscriber.watch(query, "slow \(query)", reader, ledger) }
                }
                group.addTask {
                    try await waitUntil("\(queries.count) subscriptions") {
                        try await self.figure("subscriptions") >= queries.count
                    }
                    try await self.standStill(reader, begun)
                }
                // The first failure ends all of them.
                for try await () in group {}
            }
            let net = try await self.figure("net_diffs_encoded")
            await self.writer.close()
            await reader.close()
            await self.proxy.stop()
            var history = await self.ledger.history
            history.audit = try await self.server.audit(after: Revision(0), through: self.ledger.endRevision!)
            let violations = HistoryChecker.violations(in: history)
            print("slow reader: \(ChaosSummary(history)), \(net) net diffs, \(violations.count) violations")
            #expect(violations.prefix(10) == [], "seed \(self.seed)")
            // Each subscription missed changes and got them as one diff. Some writes change nothing and have no
            // revision.
            for record in history.subscriptions {
                #expect(record.isComplete, "seed \(self.seed), \(record.name)")
                #expect(record.longestDiff > Self.writesMissed / 2, "seed \(self.seed), \(record.name)")
            }
        }

        /// Three times: the client reads everything, then stops reading until the server notices, and misses the
        /// following writes.
        private func standStill(_ reader: NestClient, _ begun: ChaosSoloWrites) async throws {
            var writes = begun
            for _ in 0..<3 {
                _ = try await reader.ping()
                await self.proxy.follow(.fixed(try Faults("stall to-client")))
                try await waitUntil("the server to notice that nothing is read", every: .zero) {
                    if try await self.figure("connections_blocked") > 0 { return true }
                    try await writes.annotate()
                    return false
                }
                for _ in 0..<Self.writesMissed { try await writes.edit() }
                await self.proxy.follow(.fixed(.none))
            }
            try await writes.end()
        }

        /// Returns one query of each kind, windows of each, and windows around objects.
        private func queries() async throws -> [WatchedQuery] {
            let list = self.ledger.list
            // The edits also put rows below others, and delete some.
            let rows = try await self.writer.fetch(WatchedQuery(.whole, of: list).request)
                .sections.flatMap(\.rows).map(\.id)
            var random = SeededRandom(seed: self.seed)
            let ids = rows.shuffled(using: &random).prefix(4)
            return WatchedQuery.Kind.allCases.flatMap { kind in
                [
                    WatchedQuery(kind, of: list), WatchedQuery(kind, of: list, window: .range(offset: 3, limit: 8)),
                ]
            } + ids.map { WatchedQuery(.whole, of: list, window: .around($0, before: 2, after: 3)) }
        }

        private func figure(_ name: String) async throws -> Int {
            Int(try await self.writer.statistics().first { $0.name == name }?.value ?? 0)
        }
    }
}

/// Random writes of one client without faults.
struct ChaosSoloWrites {
    private let client: NestClient
    private let ledger: ChaosLedger
    private var random: SeededRandom
    private var count = 0

    init(_ client: NestClient, _ ledger: ChaosLedger, _ random: SeededRandom) {
        self.client = client
        self.ledger = ledger
        self.random = random
    }

    mutating func edit() async throws {
        let (ids, known) = await self.ledger.someIDs(3, seed: self.random.next())
        let name = self.nextName()
        try await self.write(
            name,
            ChaosEdits.next(name, of: self.ledger.list, ids, known: known, &self.random)
        )
    }

    mutating func annotate() async throws {
        let ids = await self.ledger.someIDs(3, seed: self.random.next()).ids
        let name = self.nextName()
        try await self.write(name, ChaosEdits.notes(name, ids, &self.random))
    }

    mutating func end() async throws {
        let last = ListModel.insert(ChaosLedger.endTitle, isDone: true, under: self.ledger.list)
        // A subscription may receive the last change before the receipt arrives here, and then receives nothing more.
        let end = Revision(await self.ledger.revision.rawValue + 1)
        await self.ledger.end(end)
        try await self.write(ChaosLedger.endName, [last])
        #expect(await self.ledger.revision == end)
    }

    private mutating func nextName() -> String {
        self.count += 1
        return "w/\(self.count)"
    }

    private func write(_ name: String, _ mutations: [Mutation]) async throws {
        var write = Write(name: name, mutations: mutations)
        do throws(NestError) {
            let receipt = try await self.client.transaction(WriteTransaction(name: name, mutations: mutations))
            await self.ledger.acknowledged(mutations, receipt)
            write = write.answered(receipt)
        } catch {
            // A row placed before or after itself, which the store must refuse.
            guard error.code.retry == .never else { throw error }
            write.answers = [.refused(error.code)]
        }
        await self.ledger.add(write)
    }
}

extension Write {
    /// Returns the write with the receipt of its first attempt.
    fileprivate func answered(_ receipt: Receipt) -> Write {
        var write = self
        write.answers = [.receipt(receipt)]
        return write
    }
}

extension SubscriptionRecord {
    /// The largest number of revisions that one diff spans.
    fileprivate var longestDiff: Int {
        self.events.map { if case .diff(let diff) = $0 { Int(diff.to.rawValue - diff.from.rawValue) } else { 0 } }
            .max() ?? 0
    }
}
