import Foundation
import Testing

@Suite struct SimulationTests {
    /// To replay a failure, run `make simulate SEED=…`. STEPS sets the number of steps.
    @Test func everyClientEqualsAFreshFetchAfterEachBatch() throws {
        var undone = 0
        var refused = 0
        var restarts = 0
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["NEST_SEED"].flatMap({ UInt64($0) }) {
            let steps = environment["NEST_STEPS"].flatMap { Int($0) } ?? 150
            return try Simulation(seed: seed, clients: 4).run(steps: steps)
        }
        for seed in 0..<40 as Range<UInt64> {
            let simulation = try Simulation(seed: seed, clients: 4)
            try simulation.run(steps: 150)
            undone += simulation.undone
            refused += simulation.refusedUndos
            restarts += simulation.restarts
        }
        // Makes sure that the histories cover these cases.
        #expect(undone > 100 && refused > 10 && restarts > 5)
    }
}
