/// The figures of one side, one for each round.
public struct Rounds: Equatable, Sendable {
    public var values: [Double]

    public init(_ values: [Double] = []) {
        self.values = values
    }

    public var isEmpty: Bool { self.values.isEmpty }

    /// The middle one, or the mean of the two in the middle; 0 when there is none.
    public var median: Double {
        let sorted = self.values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    public var least: Double { self.values.min() ?? 0 }
    public var most: Double { self.values.max() ?? 0 }

    /// This side through the other, round by round: what a round's neighbours did to both is not in it. Rounds that only one
    /// side has, and those in which the other did nothing, have no ratio.
    public func ratios(to other: Rounds) -> Rounds {
        Rounds(zip(self.values, other.values).filter { $1 > 0 }.map { $0 / $1 })
    }
}
