import Histogram
import PeerWires

/// nest and its peers at one kind of work.
struct Comparison {
    var workload: String
    var setting: String
    /// Of `Side.values`, which are rates.
    var unit: String
    /// Whether the times are of one thing after the other, so that they say something themselves.
    var comparesLatency: Bool
    /// nest is the first, when it did not fail.
    var sides: [Side]
    /// Who is missing, and why.
    var leftOut: [String]

    var nest: Side? { self.sides.first { $0.name == "nest" } }
    var peers: [Side] { self.sides.filter { $0.name != "nest" } }
}

/// What one of them did, in all rounds.
struct Side {
    var name: String
    var terms: Terms
    /// What the design asks nest's ratio to this side to be: floor and goal.
    var wanted: String?
    var values: Rounds
    /// Median microseconds of each round; empty when nothing was timed.
    var medians: Rounds
    /// Microseconds, over all rounds.
    var latency: Histogram<UInt64>?
    var serverCores: Rounds
    var clientCores: Rounds
    /// Bytes.
    var memory: Rounds

    init(name: String, terms: Terms, wanted: String?, _ figures: [Figure]) {
        self.name = name
        self.terms = terms
        self.wanted = wanted
        self.values = Rounds(figures.map(\.value))
        self.medians = Rounds(figures.compactMap { $0.latency.map { Double($0.valueAtPercentile(50)) } })
        self.latency = figures.compactMap(\.latency).reduce(nil) { sum, latency in
            var sum = sum ?? Histogram<UInt64>(highestTrackableValue: latency.highestTrackableValue)
            sum.add(latency)
            return sum
        }
        self.serverCores = Rounds(figures.map(\.effort.serverCores))
        self.clientCores = Rounds(figures.map(\.effort.clientCores))
        self.memory = Rounds(figures.map { Double($0.effort.memory) })
    }

    /// A load client with one thread that is busy all the time may be what limits.
    var isClientLimited: Bool { self.clientCores.median > 0.9 }
}
