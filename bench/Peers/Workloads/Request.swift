import Histogram
import PeerWires
import NestProtocol

/// Requests and replies, without writes.
struct RequestWorkload {
    let connections: [Int]
    let depths: [Int]

    func run(_ bench: Bench, _ report: Report) throws {
        for kind in RequestKind.allCases {
            for connections in self.connections {
                for depth in self.depths {
                    try self.measure(bench, report, kind, connections, depth)
                }
            }
        }
    }

    private func measure(
        _ bench: Bench,
        _ report: Report,
        _ kind: RequestKind,
        _ connections: Int,
        _ depth: Int
    ) throws {
        let setting = "\(kind.rawValue), \(connections) connections, depth \(depth)"
        var turns = PeerTurns(workload: "request", settings: [setting], bench)
        for peer in bench.peers {
            guard let work = peer.requesting(kind) else { continue }
            turns.add(peer, work.terms, wanted: kind == .ping && depth > 1 ? work.wanted : nil) {
                try bench.withServer(peer, connections: connections + 2, setup: work.setup) { trial in
                    let (result, effort) = try trial.effort {
                        try self.race(trial, work, connections, depth, seconds: bench.options.seconds)
                    }
                    let rate = Double(result.answered) / result.time
                    return [Figure(value: rate, latency: result.latency, effort: effort)]
                }
            }
        }
        try turns.run(unit: "requests/s", comparesLatency: depth == 1).forEach(report.add)
    }

    /// Opens new connections whenever the previous ones have sent their maximum number of requests. The times exclude
    /// connecting.
    private func race(
        _ trial: Trial,
        _ work: RequestWork,
        _ connections: Int,
        _ depth: Int,
        seconds: Double
    ) throws -> RequestRace.Result {
        var sum = RequestRace.Result()
        while sum.time < seconds {
            let wires = (0..<connections).map { _ in work.requester() }
            let made = try trial.loop.connect(port: trial.port, wires)
            let race = RequestRace(
                trial.loop,
                Array(zip(made, wires)),
                depth: depth,
                requestsMax: work.requestsMax
            )
            let result = try race.run(seconds: seconds - sum.time)
            sum.answered += result.answered
            sum.time += result.time
            sum.latency.add(result.latency)
            made.forEach(trial.loop.close)
        }
        return sum
    }
}
