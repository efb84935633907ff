/// The figures of one side, one for each round.
public struct Rounds: Equatable, Sendable {
    public var values: [Double]

    public init(_ values: [Double] = []) {
        self.values = values
    }

    public var isEmpty: Bool { self.values.isEmpty }

    /// The middle figure, or the mean of the two in the middle; 0 if there are no figures.
    public var median: Double {
        let sorted = self.values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    public var least: Double { self.values.min() ?? 0 }
    public var most: Double { self.values.max() ?? 0 }

    /// Returns this side divided by the other, round by round, so that other load on the machine in a round has little
    /// effect. A round that only one side has, or in which the other side is 0, has no ratio.
    public func ratios(to other: Rounds) -> Rounds {
        Rounds(zip(self.values, other.values).filter { $1 > 0 }.map { $0 / $1 })
    }
}
