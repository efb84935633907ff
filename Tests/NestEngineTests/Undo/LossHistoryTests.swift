import Foundation
import NestModel
import Testing

/// `NEST_SEED` selects one seed, `NEST_SEEDS=a..b` a range of seeds. `NEST_STEPS` sets the number of rounds of each.
@Suite struct LossHistoryTests {
    @Test func lossesOfOthersAreForcedAndReported() throws {
        let environment = ProcessInfo.processInfo.environment
        let ends = environment["NEST_SEEDS"]?.split(separator: ".").compactMap { UInt64($0) } ?? []
        let one = environment["NEST_SEED"].flatMap { UInt64($0) }
        let seeds = one.map { $0..<$0 + 1 } ?? (ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : 48..<72)
        let rounds = environment["NEST_STEPS"].flatMap { Int($0) } ?? 20
        let isUsual = one == nil && ends.isEmpty
        var total = LossHistory.Counts()
        for seed in seeds {
            // Prints the seed, because a trap would not show it.
            if !isUsual { FileHandle.standardError.write(Data("seed \(seed)\n".utf8)) }
            let history = try LossHistory(seed: seed)
            do { try history.run(rounds: rounds) } catch is LossHistory.Disagreement {}
            total.add(history.counts)
        }
        if !isUsual { print("\(total)") }
        // Makes sure that the histories cover these cases.
        guard isUsual else { return }
        for policy in UndoOptions.Policy.allCases {
            for rehomes in [false, true] {
                #expect(total.taken[UndoOptions(policy: policy, rehomes: rehomes), default: 0] > 10, "\(policy)")
            }
        }
        #expect(total.losses > 50 && total.groups > 20)
        for reason in [UndoConflict.Reason.lost, .overwritten, .rehomed, .ownerGone] {
            #expect(total.reported[reason, default: 0] > 0, "\(reason)")
        }
        #expect(total.refused[.undoConflict, default: 0] > 20 && total.refused[.ownerGone, default: 0] > 0)
    }
}

extension LossHistory.Counts {
    fileprivate mutating func add(_ other: Self) {
        self.taken.merge(other.taken, uniquingKeysWith: +)
        self.refused.merge(other.refused, uniquingKeysWith: +)
        self.reported.merge(other.reported, uniquingKeysWith: +)
        self.losses += other.losses
        self.groups += other.groups
    }
}
