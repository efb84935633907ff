import Testing

@Suite struct SimulationTests {
    /// To replay a failure, put its seed in the range.
    @Test func everyClientEqualsAFreshFetchAfterEveryBatch() throws {
        var undone = 0
        var refused = 0
        var restarts = 0
        for seed in 0..<40 as Range<UInt64> {
            let simulation = try Simulation(seed: seed, clients: 4)
            try simulation.run(steps: 150)
            undone += simulation.undone
            refused += simulation.refusedUndos
            restarts += simulation.restarts
        }
        // The histories reach what they are for.
        #expect(undone > 100 && refused > 10 && restarts > 5)
    }
}
