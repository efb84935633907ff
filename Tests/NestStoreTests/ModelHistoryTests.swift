import Foundation
import NestModel
import NestTestSupport
import Testing

/// Compares random models and histories with a naive object graph.
@Suite struct ModelHistoryTests {
    /// The store and the naive graph accept and refuse the same transactions, for the same reasons, and then have the
    /// same objects, values, inverses and orders.
    @Test func storesOfRandomModelsAgreeWithTheNaiveGraph() throws {
        var accepted = 0
        var refused: [ErrorCode: Int] = [:]
        for seed in Seeds.range(0..<60) {
            let history = try ModelHistory(seed: seed)
            do {
                for _ in 0..<Seeds.steps(40) { try history.transact() }
                try history.checkInvariants()
            } catch is ModelHistory.Disagreement {}
            accepted += history.accepted
            refused.merge(history.refused, uniquingKeysWith: +)
        }
        if !Seeds.isUsual { print("accepted \(accepted), refused \(refused)") }
        // The histories cover the cases that they are made for.
        guard Seeds.isUsual else { return }
        #expect(accepted > 800)
        for code in [
            ErrorCode.validationFailed, .notUnique, .cycle, .deleteDenied, .notFound, .invalid, .conflict, .rootObject,
        ] {
            #expect(refused[code, default: 0] > 0, "\(code)")
        }
    }
}
