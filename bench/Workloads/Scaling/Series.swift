import Foundation
import Histogram

/// What grows, and what is done at each size of it.
struct Series {
    /// `rows`, …: for programs.
    let id: String
    /// What is timed: "a row moved in a list with a subscriber".
    let operation: String
    /// What grows: "rows".
    let quantity: String
    /// Whether the memory that the server takes for one more says something.
    var weighs = false
}

/// Operations on one server: how long each took, and what all of them cost it.
struct Sample {
    var latency = Histogram<UInt64>(highestTrackableValue: 600_000_000)
    /// Seconds that the server's threads have worked, in all.
    var work = 0.0

    var count: Int { Int(self.latency.totalCount) }
    var workMicroseconds: Double { self.work / Double(max(self.count, 1)) * 1e6 }
    var median: Double { Double(self.latency.valueAtPercentile(50)) }

    mutating func record(_ duration: Duration) {
        _ = self.latency.record(duration.microseconds)
    }

    mutating func add(_ other: Sample) {
        self.latency.add(other.latency)
        self.work += other.work
    }
}

/// All rounds at one size, and as many of a server that stays at the smallest.
struct ScalingPoint {
    let count: Int
    var grown: [Sample] = []
    var smallest: [Sample] = []
    /// Bytes resident.
    var memory = 0

    /// All rounds.
    var latency: Histogram<UInt64> { self.grown.reduce(into: Sample()) { $0.add($1) }.latency }
    var percentile99: Double { Double(self.latency.valueAtPercentile(99)) }
    var work: Double { Measurement.median(self.grown.map(\.workMicroseconds)) }
    var time: Double { Measurement.median(self.grown.map(\.median)) }
    /// How many times the smallest's work, by rounds.
    var growth: Double { Self.ratio(self.grown, self.smallest, \.workMicroseconds) }
    var timeGrowth: Double { Self.ratio(self.grown, self.smallest, \.median) }

    private static func ratio(_ grown: [Sample], _ smallest: [Sample], _ figure: (Sample) -> Double) -> Double {
        Measurement.median(zip(grown, smallest).map { figure($1) == 0 ? 0 : figure($0) / figure($1) })
    }
}

/// How a cost grows with a count: the exponent e of cost ~ count^e, by least squares over the logarithms.
struct Growth {
    enum Verdict: String, CaseIterable {
        case flat
        case subLinear = "sub-linear"
        case linear
        case superLinear = "super-linear"
    }

    let exponent: Double
    /// The same between two neighbours, where it is greatest: a cost that is fixed at first and explodes later shows here.
    let steepest: Double

    /// `nil` for fewer than two points. What has no logarithm is left out.
    init?(_ points: [(count: Int, cost: Double)]) {
        let logarithms = points.filter { $0.count > 0 && $0.cost > 0 }.map { (log(Double($0.count)), log($0.cost)) }
        guard logarithms.count > 1 else { return nil }
        let size = Double(logarithms.count)
        let mean = (logarithms.map(\.0).reduce(0, +) / size, logarithms.map(\.1).reduce(0, +) / size)
        let together = logarithms.map { ($0.0 - mean.0) * ($0.1 - mean.1) }.reduce(0, +)
        self.exponent = together / logarithms.map { ($0.0 - mean.0) * ($0.0 - mean.0) }.reduce(0, +)
        let slopes = zip(logarithms, logarithms.dropFirst()).map { ($1.1 - $0.1) / ($1.0 - $0.0) }
        self.steepest = slopes.max() ?? self.exponent
    }

    /// The steepest part may be noise of two points: it is believed where it is a quarter over linear.
    var verdict: Verdict {
        if self.exponent > 1.1 || self.steepest > 1.25 { return .superLinear }
        if self.exponent > 0.9 { return .linear }
        return self.exponent > 0.1 || self.steepest > 0.3 ? .subLinear : .flat
    }

    /// Of the work itself and of the work as a multiple of the smallest's in the same rounds: what a busy machine does falls on
    /// one of them, what the server does on both, so the lower verdict stands.
    static func verdict(_ work: Growth, _ times: Growth) -> Verdict {
        let both = [work.verdict, times.verdict]
        return Verdict.allCases.first { both.contains($0) } ?? work.verdict
    }
}
