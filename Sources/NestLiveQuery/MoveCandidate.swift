import NestModel
import NestOrder

/// A placed row that a view shows before and after a change.
struct MoveCandidate {
    var before: RowKey
    var after: RowKey
    var oldIndex: Int
    var newIndex: Int
    var changesSection: Bool
}

/// Returns the candidates that must move, ascending by their new index. `common`: the stationary rows that are in the
/// window before and after, by their ranks among the stationary rows.
func movesOf(_ candidates: [MoveCandidate], _ delta: ResultDelta, common: Range<Int>) -> [MoveCandidate] {
    /// Returns how many of the common rows are before an index.
    func commonBefore(_ index: Int, _ placed: [Int]) -> Int {
        min(max(index - rank(index, in: placed), common.lowerBound), common.upperBound)
    }
    let sorted = candidates.sorted { $0.newIndex < $1.newIndex }
    // A candidate may stay only if equally many stationary rows are before it in the new state and in the old one.
    let staying = sorted.indices.filter { index in
        let candidate = sorted[index]
        return !candidate.changesSection
            && commonBefore(candidate.oldIndex, delta.oldPlaced) == commonBefore(candidate.newIndex, delta.newPlaced)
    }
    let kept = longestIncreasingSubsequence(staying.map { sorted[$0].oldIndex }).map { staying[$0] }
    var isKept = [Bool](repeating: false, count: sorted.count)
    for index in kept { isKept[index] = true }
    return sorted.indices.filter { !isKept[$0] }.map { sorted[$0] }
}
