import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// All guarantees of the server, over bad networks and across kills of the server; and those of a cluster, across
    /// kills, stops and freezes of its nodes, restarts of its PostgreSQL, and faults of the networks between them.
    ///
    /// `NEST_CHAOS_SEED` repeats the networks, the edits and the moments of a run, but not the scheduling of processes,
    /// so that a failure may need several runs. `NEST_CHAOS_SECONDS` sets the duration, `NEST_CHAOS_NODES` the number
    /// of servers. Only one piece is in memory at a time.
    @Suite struct Chaos {
        private static let pieceSecondsMax = 30

        private static let environment = ProcessInfo.processInfo.environment

        /// The numbers of servers: a single one, and a cluster if there is a PostgreSQL for it.
        private static let sizes =
            environment["NEST_CHAOS_NODES"].flatMap(Int.init).map { [$0] }
            ?? [1, 3].filter {
                $0 == 1 || PostgresServer.isInstalled
            }

        @Test(arguments: sizes) func everyPromiseIsKept(nodes: Int) async throws {
            let environment = Self.environment
            let seed = environment["NEST_CHAOS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 1...1_000_000)
            let seconds = environment["NEST_CHAOS_SECONDS"].flatMap(Int.init) ?? (nodes == 1 ? 10 : 8)
            print("chaos: NEST_CHAOS_SEED=\(seed) NEST_CHAOS_SECONDS=\(seconds) NEST_CHAOS_NODES=\(nodes)")
            let pieces = max(2, (seconds + Self.pieceSecondsMax - 1) / Self.pieceSecondsMax)
            var run = try await ChaosRun(seed: seed, nodes: nodes)
            let checker = ChaosChecker(run)
            do {
                try await run.run(pieces: pieces, of: .seconds(seconds) / pieces, checker)
                try await checker.checkStores()
            } catch let failure as ChaosFailure {
                Issue.record(failure, "seed \(seed)")
                return
            }
            let summary = await checker.summary
            let (blocked, net) = (await run.total("connections_blocked_total"), await run.total("net_diffs_encoded"))
            print("chaos: \(summary), no violation; connections blocked \(blocked) times, \(net) net diffs")
            let faults = await run.ledger.faults.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            if !faults.isEmpty { print("chaos: faults: \(faults.joined(separator: ", "))") }
            // The run must contain something to check.
            #expect(summary.receipts > 0 && summary.reverts > 0 && summary.changed > 0 && summary.folds > 0)
            let kept = try await checker.reread()
            print("chaos: \(kept) of \(pieces) pieces read again")
            #expect(kept > 0)
            await run.world.stop()
        }
    }
}
