import Foundation
import Histogram

/// A quantity that grows, and the operation that is timed at each count.
struct Series {
    /// The name for programs, such as "rows".
    let id: String
    /// The timed operation, such as "a row moved in a list with a subscriber".
    let operation: String
    /// The quantity that grows, such as "rows".
    let quantity: String
    /// Whether to report the server's memory for one more.
    var measuresMemory = false
}

/// Operations on one server: the time of each, and their total cost to the server.
struct Sample {
    var latency = Histogram<UInt64>(highestTrackableValue: 600_000_000)
    /// The processor time of the server in seconds, in total.
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

/// All rounds at one count, and the same number of rounds on the server that stays at the smallest count.
struct ScalingPoint {
    let count: Int
    var grown: [Sample] = []
    var smallest: [Sample] = []
    /// The resident memory in bytes.
    var memory = 0

    /// The latencies of all rounds.
    var latency: Histogram<UInt64> { self.grown.reduce(into: Sample()) { $0.add($1) }.latency }
    var percentile99: Double { Double(self.latency.valueAtPercentile(99)) }
    var work: Double { Measurement.median(self.grown.map(\.workMicroseconds)) }
    var time: Double { Measurement.median(self.grown.map(\.median)) }
    /// The work as a multiple of the work at the smallest count: the median over the rounds.
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
    /// The greatest exponent between two neighbouring points. It shows a cost that is constant at first and grows fast
    /// later.
    let steepest: Double

    /// Returns `nil` for fewer than two points. Points without a logarithm are ignored.
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

    /// The steepest part may be noise between two points. It counts as super-linear only above 1.25.
    var verdict: Verdict {
        if self.exponent > 1.1 || self.steepest > 1.25 { return .superLinear }
        if self.exponent > 0.9 { return .linear }
        return self.exponent > 0.1 || self.steepest > 0.3 ? .subLinear : .flat
    }

    /// Returns the lower of two verdicts: of the work, and of the work as a multiple of that at the smallest count in
    /// the same rounds. Other load on the machine affects one of them; growth of the server's work affects both.
    static func verdict(_ work: Growth, _ times: Growth) -> Verdict {
        let both = [work.verdict, times.verdict]
        return Verdict.allCases.first { both.contains($0) } ?? work.verdict
    }
}
