import Foundation
import NestHistory
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// Everything that a server promises, over bad networks and its own deaths.
    ///
    /// `NEST_CHAOS_SEED` repeats the networks, the edits and the moments of a run (not the scheduling of processes, so that
    /// a failure may need several runs), `NEST_CHAOS_SECONDS` makes it longer.
    @Suite struct Chaos {
        @Test func everyPromiseIsKept() async throws {
            let environment = ProcessInfo.processInfo.environment
            let seed = environment["NEST_CHAOS_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 1...1_000_000)
            let seconds = environment["NEST_CHAOS_SECONDS"].flatMap(Int.init) ?? 10
            print("chaos: NEST_CHAOS_SEED=\(seed) NEST_CHAOS_SECONDS=\(seconds)")
            var run = try await ChaosRun(seed: seed, duration: .seconds(seconds))
            let history = try await run.history()
            let violations = HistoryChecker.violations(in: history)
            print("chaos: \(ChaosSummary(history)), \(violations.count) violations")
            let (blocked, net) = (await run.total("connections_blocked_total"), await run.total("net_diffs_encoded"))
            print("chaos: connections blocked \(blocked) times, \(net) net diffs")
            #expect(violations.prefix(10) == [], "seed \(seed)")
            // That there was something to check.
            #expect(history.writes.contains { $0.answers.contains { if case .receipt = $0 { true } else { false } } })
            #expect(history.audit.contains { $0.reverted != nil })
            #expect(
                history.subscriptions.contains { $0.events.contains { if case .changed = $0 { true } else { false } } }
            )
            #expect(history.subscriptions.contains { $0.isComplete } && history.followers.contains { $0.isComplete })
        }
    }
}

/// What a run was like, in a line.
struct ChaosSummary: CustomStringConvertible {
    let description: String

    init(_ history: History) {
        let answers = history.writes.flatMap(\.answers)
        let receipts = answers.compactMap { if case .receipt(let receipt) = $0 { receipt } else { nil } }
        let events = history.subscriptions.flatMap(\.events)
        let resumed = events.count { if case .resumed = $0 { true } else { false } }
        let changes = events.count { if case .changed = $0 { true } else { false } }
        let positions = events.count { if case .position = $0 { true } else { false } }
        let reverts = history.audit.count { $0.reverted != nil }
        let resets = events.count { if case .reset = $0 { true } else { false } }
        self.description = """
            \(history.writes.count) writes (\(receipts.count) receipts, \(receipts.count(where: \.isReplayed)) of them \
            repeated, \(answers.count { $0 == .unknown }) unknown, \(history.writes.reduce(0) { $0 + $1.sights.count }) sights), \(history.fetches.count) fetches, \
            \(history.subscriptions.count) subscriptions (\(events.count) events, \(resumed) resumed, \(resets) reset, \
            \(changes) changed, \(positions) positions), \
            \(reverts) undone or redone, \(history.followers.count) followers, \(history.audit.last?.revision.rawValue ?? 0) revisions
            """
    }
}
