import NestTestSupport
import Synchronization
import Testing

/// Laws of the overlay, over random histories.
@Suite struct OverlayTests {
    /// `NEST_SEED` repeats one history, `NEST_SEEDS=a..b` runs others, `NEST_STEPS` sets their length.
    @Test func whatIsDecidedIsWhatTheServerAnswers() throws {
        var counts: [String: Int] = [:]
        for seed in Seeds.range(0..<40) {
            let simulation = try OverlaySimulation(seed: seed)
            try simulation.run(steps: Seeds.steps(60))
            counts.merge(simulation.counts) { $0 + $1 }
        }
        // Makes sure that the histories cover these cases.
        let minima = [
            "accepted": 3_000, "decided": 250, "decided sections": 40, "decided windows": 80,
            "decided with other rows": 100, "decided outlines": 30, "idempotent": 700,
        ]
        for (name, least) in minima where Seeds.isUsual { #expect(counts[name, default: 0] > least, "\(counts)") }
        print("overlay: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
    }

    /// The same in other languages.
    @Test func theVectorsHold() throws {
        if let difference = try OverlayVectors.file().difference() { Issue.record("\(difference)") }
        if let difference = try OptimisticTrace.file().difference() { Issue.record("\(difference)") }
    }

    @Test func everybodyShowsTheServersStateInTheEnd() throws {
        var counts: [String: Int] = [:]
        for seed in Seeds.range(0..<52) {
            let simulation = try OptimisticSimulation(seed: seed)
            try simulation.run(steps: Seeds.steps(120))
            counts.merge(simulation.counts) { $0 + $1 }
        }
        let minima = [
            "publishes": 5_000, "confirmations": 150, "confirmed outlines": 30, "cuts": 100, "held": 800,
            "held after a cut": 20, "of several revisions": 100, "refused": 60, "replayed": 8, "under a delete": 100,
            "predicted": 100, "predicted views": 400, "decided with other rows": 10, "whole": 10_000, "once": 800,
            "kills": 15, "groups": 80, "groups given up": 20, "corrected": 40, "withdrawn": 60, "folds": 10,
            "changed lists": 60, "changed outlines": 10, "undos of what is pending": 60, "vain undos": 10, "redos": 25,
            "again": 30,
        ]
        for (name, least) in minima where Seeds.isUsual { #expect(counts[name, default: 0] > least, "\(counts)") }
        print(
            "optimistic: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))"
        )
    }

    /// The laws find a client that breaks them.
    @Test(arguments: OptimisticMutant.allCases) func mutantIsFound(_ mutant: OptimisticMutant) throws {
        let isFound = Mutex(false)
        try withKnownIssue {
            for seed in 0..<12 as Range<UInt64> where !isFound.withLock({ $0 }) {
                try OptimisticSimulation(seed: seed, mutant: mutant).run(steps: 120)
            }
        } matching: { _ in
            isFound.withLock { $0 = true }
            return true
        }
    }
}
