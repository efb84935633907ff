import Foundation
import Testing

@Suite struct ResultsSimulationTests {
    /// To replay a failure: `NEST_RESULTS_SEED=…` and `NEST_STEPS=…` in the environment.
    @Test func everyClientHoldsWhatANaiveSearchFinds() throws {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["NEST_RESULTS_SEED"].flatMap({ UInt64($0) }) {
            let steps = environment["NEST_STEPS"].flatMap { Int($0) } ?? 150
            return try ResultsSimulation(seed: seed).run(steps: steps)
        }
        var done = 0
        var diffs = 0
        var moves = 0
        var counts: [String: Int] = [:]
        var changeParts = 0
        var resumedInside = 0
        for seed in 0..<40 as Range<UInt64> {
            let simulation = try ResultsSimulation(seed: seed)
            try simulation.run(steps: 150)
            done += simulation.done
            diffs += simulation.diffs
            moves += simulation.moves
            counts.merge(simulation.counts) { $0 + $1 }
            changeParts += simulation.followers.all.reduce(0) { $0 + $1.parts }
            resumedInside += simulation.followers.all.reduce(0) { $0 + $1.resumedInside }
        }
        // The histories reach what they are for.
        #expect(done > 2_000 && diffs > 3_000 && moves > 250, "\(done) writes, \(diffs) diffs, \(moves) moves")
        #expect(changeParts > 5_000 && resumedInside > 3, "\(changeParts) parts, \(resumedInside) resumed inside")
        let kinds = [
            "all", "owned", "paired", "sorted all", "sorted owned", "sorted paired", "filtered all", "filtered owned",
            "filtered sorted all", "filtered sorted owned",
        ]
        for kind in kinds + ["owned in order", "paired in order", "owned of a kind", "paired of a kind"] {
            #expect(counts[kind, default: 0] > 20, "\(kind): \(counts)")
        }
    }
}
