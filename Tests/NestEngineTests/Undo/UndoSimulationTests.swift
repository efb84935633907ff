import Foundation
import NestModel
import Testing

/// `NEST_SEED` selects one seed, `NEST_SEEDS=a..b` a range of seeds. `NEST_STEPS` sets the number of steps of each.
@Suite struct UndoSimulationTests {
    @Test func undoMatchesTheOracleWithConcurrentWrites() throws {
        let environment = ProcessInfo.processInfo.environment
        let ends = environment["NEST_SEEDS"]?.split(separator: ".").compactMap { UInt64($0) } ?? []
        let one = environment["NEST_SEED"].flatMap { UInt64($0) }
        let seeds = one.map { $0..<$0 + 1 } ?? (ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : 0..<48)
        let steps = environment["NEST_STEPS"].flatMap { Int($0) } ?? 60
        let isUsual = one == nil && ends.isEmpty
        var total = UndoSimulation.Counts()
        for seed in seeds {
            // Prints the seed, because a trap would not show it.
            if !isUsual { FileHandle.standardError.write(Data("seed \(seed)\n".utf8)) }
            let simulation = try UndoSimulation(seed: seed)
            do { try simulation.run(steps: steps) } catch is UndoSimulation.Disagreement {}
            total.add(simulation.counts)
        }
        if !isUsual { print("\(total)") }
        // Makes sure that the histories cover these cases.
        guard isUsual else { return }
        #expect(total.taken > 300 && total.blocked > 10 && total.restarts > 10 && total.wholes > 50)
        #expect(total.several > 20 && total.replays > 5 && total.previews > 100)
        for reason in UndoConflict.Reason.allCases where reason != .other {
            #expect(total.conflicts[reason, default: 0] > 0, "\(reason)")
        }
        for code in [ErrorCode.undoConflict, .ownerGone, .nothingToUndo, .nothingToRedo, .forbidden] {
            #expect(total.refused[code, default: 0] > 0, "\(code)")
        }
        // Outcomes that the contract leaves open are the exception.
        #expect(total.open * 5 < total.taken + total.blocked)
    }
}

extension UndoSimulation.Counts {
    fileprivate mutating func add(_ other: Self) {
        self.taken += other.taken
        self.refused.merge(other.refused, uniquingKeysWith: +)
        self.conflicts.merge(other.conflicts, uniquingKeysWith: +)
        self.blocked += other.blocked
        self.open += other.open
        self.several += other.several
        self.restarts += other.restarts
        self.replays += other.replays
        self.wholes += other.wholes
        self.previews += other.previews
    }
}
