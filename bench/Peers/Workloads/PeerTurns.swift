import Histogram
import PeerWires
import NestProtocol

/// The result of one measurement of one side.
struct Figure {
    /// A rate.
    var value: Double
    /// Microseconds.
    var latency: Histogram<UInt64>?
    var effort: Effort
}

/// Measures nest and its peers at one kind of work, round by round. Each round begins with another server.
struct PeerTurns {
    private struct Entry {
        let name: String
        let terms: Terms
        let wanted: String?
        let measure: () throws -> [Figure]
        /// By round, then by setting.
        var figures: [[Figure]] = []
        var failure: String?
    }

    private let workload: String
    private let settings: [String]
    private let bench: Bench
    private var entries: [Entry] = []
    private var leftOut: [String] = []

    /// `settings`: the descriptions of the figures that a measurement returns.
    init(workload: String, settings: [String], _ bench: Bench) {
        self.workload = workload
        self.settings = settings
        self.bench = bench
    }

    /// `wanted`: the design's target for nest's ratio.
    mutating func add(
        _ peer: any Peer,
        _ terms: Terms,
        wanted: String? = nil,
        _ measure: @escaping () throws -> [Figure]
    ) {
        self.entries.append(Entry(name: peer.name, terms: terms, wanted: wanted, measure: measure))
    }

    mutating func leaveOut(_ peer: any Peer, _ why: String) {
        self.leftOut.append("\(peer.name): \(why)")
    }

    /// Returns a comparison for each setting. Leaves out a peer that fails, and reports the reason. Throws
    /// `Interrupted` if this program receives a signal to end.
    mutating func run(unit: String, comparesLatency: Bool) throws -> [Comparison] {
        for round in 0..<self.bench.options.rounds {
            for offset in self.entries.indices {
                let index = (offset + round) % self.entries.count
                guard self.entries[index].failure == nil else { continue }
                Progress.show(
                    "\(self.workload), \(self.settings[0]): round \(round + 1) of \(self.bench.options.rounds), "
                        + self.entries[index].name
                )
                do {
                    self.entries[index].figures.append(try self.entries[index].measure())
                } catch let interrupted as Interrupted {
                    throw interrupted
                } catch {
                    self.entries[index].failure = "\(error)"
                    self.leftOut.append("\(self.entries[index].name): failed in round \(round + 1): \(error)")
                }
            }
        }
        Progress.clear()
        return self.settings.indices.map { setting in
            Comparison(
                workload: self.workload,
                setting: self.settings[setting],
                unit: unit,
                comparesLatency: comparesLatency,
                sides: self.entries.filter { $0.failure == nil }.map { entry in
                    Side(
                        name: entry.name,
                        terms: entry.terms,
                        wanted: entry.wanted,
                        entry.figures.map { $0[setting] }
                    )
                },
                leftOut: self.leftOut
            )
        }
    }
}
