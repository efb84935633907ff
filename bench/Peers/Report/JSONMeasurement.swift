import Foundation
import Histogram
import PeerWires

/// One line of JSON for nest and one peer. Members that mean the same have the same names as in nestbench's lines.
struct JSONMeasurement: Encodable {
    private struct Latency: Encodable {
        var p50, p90, p99, p999, max: UInt64

        init(_ histogram: Histogram<UInt64>) {
            self.p50 = histogram.valueAtPercentile(50)
            self.p90 = histogram.valueAtPercentile(90)
            self.p99 = histogram.valueAtPercentile(99)
            self.p999 = histogram.valueAtPercentile(99.9)
            self.max = histogram.max
        }
    }

    /// A value for each side.
    private struct Both<Value: Encodable>: Encodable {
        var nest: Value?
        var peer: Value?
    }

    private struct Cores: Encodable {
        var server, client: [Double]
    }

    private var workload: String
    private var parameters: String
    private var unit: String
    /// One figure for each round, here and in `peer`; empty if nest failed.
    private var nest: [Double]
    private var peerName: String
    private var peer: [Double]
    private var ratio: Double?
    private var ratioLeast: Double?
    private var ratioMost: Double?
    private var rounds: Int
    private var latencyMicroseconds: Both<Latency>
    /// nest's median time divided by the peer's, if requests ran one at a time.
    private var latencyRatio: Double?
    private var memoryBytes: Both<[Double]>
    private var cores: Both<Cores>
    private var durability: Both<String>
    private var notes: Both<String>
    /// The features of nest that the peer lacks.
    private var less: String
    private var wanted: String?
    private var leftOut: [String]

    private init(_ comparison: Comparison, _ peer: Side) {
        let nest = comparison.nest
        let ratios = nest?.values.ratios(to: peer.values) ?? Rounds()
        let times = comparison.comparesLatency ? nest?.medians.ratios(to: peer.medians) ?? Rounds() : Rounds()
        func both<Value>(_ value: (Side) -> Value?) -> Both<Value> {
            Both(nest: nest.flatMap(value), peer: value(peer))
        }
        self.workload = comparison.workload
        self.parameters = comparison.setting
        self.unit = comparison.unit
        self.nest = nest?.values.values ?? []
        self.peerName = peer.name
        self.peer = peer.values.values
        self.ratio = ratios.isEmpty ? nil : ratios.median
        self.ratioLeast = ratios.isEmpty ? nil : ratios.least
        self.ratioMost = ratios.isEmpty ? nil : ratios.most
        self.rounds = peer.values.values.count
        self.latencyMicroseconds = both { $0.latency.map { Latency($0) } }
        self.latencyRatio = times.isEmpty ? nil : times.median
        self.memoryBytes = both { $0.memory.values }
        self.cores = both { Cores(server: $0.serverCores.values, client: $0.clientCores.values) }
        self.durability = both { $0.terms.durability }
        self.notes = both { $0.terms.note }
        self.less = peer.terms.less
        self.wanted = peer.wanted
        self.leftOut = comparison.leftOut
    }

    static func lines(of comparison: Comparison) throws -> [String] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try comparison.peers.map {
            String(decoding: try encoder.encode(JSONMeasurement(comparison, $0)), as: UTF8.self)
        }
    }
}
