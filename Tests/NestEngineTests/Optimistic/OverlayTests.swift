import NestTestSupport
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
        print("overlay: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
    }
}
