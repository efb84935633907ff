import Histogram
import PeerWires

/// nest and its peers at one kind of work.
struct Comparison {
    var workload: String
    var setting: String
    /// The unit of `Side.values`, which are rates.
    var unit: String
    /// Whether requests ran one at a time, so that their times can be compared.
    var comparesLatency: Bool
    /// nest is the first, if it did not fail.
    var sides: [Side]
    /// The missing peers, with the reasons.
    var leftOut: [String]

    var nest: Side? { self.sides.first { $0.name == "nest" } }
    var peers: [Side] { self.sides.filter { $0.name != "nest" } }
}

/// The results of one server in all rounds.
struct Side {
    var name: String
    var terms: Terms
    /// The design's target for nest's ratio to this side: floor and goal.
    var wanted: String?
    var values: Rounds
    /// The median of each round in microseconds; empty if nothing was timed.
    var medians: Rounds
    /// The latency over all rounds, in microseconds.
    var latency: Histogram<UInt64>?
    var serverCores: Rounds
    var clientCores: Rounds
    /// In bytes.
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

    /// Whether the load client may be the bottleneck: its one thread was busy almost all the time.
    var isClientLimited: Bool { self.clientCores.median > 0.9 }
}
