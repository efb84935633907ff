import Histogram
import PeerWires

/// Writes many items and reads them as one ordered list.
struct LoadWorkload {
    let items: Int

    func run(_ bench: Bench, _ report: Report) throws {
        let settings = ["write \(self.items) items", "read \(self.items) items in order"]
        var turns = PeerTurns(workload: "load", settings: settings, bench)
        for peer in bench.peers {
            // Each round creates its requests again, as bytes, before the timing starts.
            guard let work = peer.loading(items: 1, title: { _ in "" }) else { continue }
            turns.add(peer, work.terms) { try self.measure(bench, peer) }
        }
        try turns.run(unit: "items/s", comparesLatency: false).forEach(report.add)
    }

    private func measure(_ bench: Bench, _ peer: any Peer) throws -> [Figure] {
        guard let work = peer.loading(items: self.items, title: { "an ordinary item, no. \($0)" }) else {
            throw PeerRefusal("the peer has no bulk load")
        }
        return try bench.withServer(peer, connections: 8, setup: work.setup) { trial in
            let (writeTime, writeEffort) = try trial.effort { try self.write(trial, work) }
            for request in work.between { try trial.ask(request()) }
            let (readTime, readEffort) = try trial.effort { try self.read(trial, work) }
            return [(writeTime, writeEffort), (readTime, readEffort)].map {
                Figure(value: Double(self.items) / $0, latency: nil, effort: $1)
            }
        }
    }

    /// Writes all batches. Returns the seconds until all are answered.
    private func write(_ trial: Trial, _ work: LoadWork) throws -> Double {
        let connection = try trial.loop.connect(port: trial.port, index: 0, wire: work.writer)
        try trial.loop.turn(until: { connection.isReady }, within: 60, "the writer did not become ready")
        let start = monotonicTime()
        var sent = min(work.inFlight, work.batches)
        var answered = 0
        try trial.loop.send(connection) { for _ in 0..<sent { work.writer.appendRequest(to: &$0) } }
        try trial.loop.turn(
            until: { answered == work.batches },
            within: 120,
            "\(work.batches - answered) batches were not answered"
        ) { _, received in
            answered += received.answers
            let count = min(received.answers, work.batches - sent)
            guard count > 0 else { return }
            sent += count
            try trial.loop.send(connection) { for _ in 0..<count { work.writer.appendRequest(to: &$0) } }
        }
        let time = seconds(since: start)
        trial.loop.close(connection)
        return time
    }

    /// Returns the seconds until the last row has arrived. If the rows arrive without a request, the time includes
    /// connecting.
    private func read(_ trial: Trial, _ work: LoadWork) throws -> Double {
        let wire = work.reader()
        var start = monotonicTime()
        var rows = 0
        let connection = try trial.loop.connect(port: trial.port, index: 0, wire: wire)
        func count(_: LoadConnection, _ received: Received) { rows += received.deliveries }
        try trial.loop.turn(until: { connection.isReady }, within: 60, "the reader did not become ready", count)
        if let wire = wire as? any RequestWire, !work.readsByOpening {
            start = monotonicTime()
            try trial.loop.send(connection) { wire.appendRequest(to: &$0) }
        }
        try trial.loop.turn(until: { rows >= self.items }, within: 120, "only \(rows) rows arrived", count)
        let time = seconds(since: start)
        guard rows == self.items else { throw PeerRefusal("\(rows) rows arrived instead of \(self.items)") }
        trial.loop.close(connection)
        return time
    }
}
