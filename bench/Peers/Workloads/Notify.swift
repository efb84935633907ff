import PeerWires

/// Durable writes to one list with N subscribers.
struct NotifyWorkload {
    let subscribers: [Int]
    let inFlight: [Int]

    func run(_ bench: Bench, _ report: Report) throws {
        for subscribers in self.subscribers {
            for inFlight in self.inFlight {
                try self.measure(bench, report, subscribers, inFlight)
            }
        }
    }

    private func measure(_ bench: Bench, _ report: Report, _ subscribers: Int, _ inFlight: Int) throws {
        var turns = PeerTurns(
            workload: "notify",
            settings: ["\(subscribers) subscribers, \(inFlight) in flight"],
            bench
        )
        for peer in bench.peers {
            guard let work = peer.notifying() else { continue }
            guard subscribers <= work.subscribersMax else {
                turns.leaveOut(peer, "not tried with more than \(work.subscribersMax) subscribers")
                continue
            }
            let wanted = subscribers == 1_000 && inFlight == 64 ? work.wanted : nil
            turns.add(peer, work.terms, wanted: wanted) {
                try bench.withServer(peer, connections: subscribers + 2, setup: work.setup) { trial in
                    _ = try trial.loop.connect(port: trial.port, (0..<subscribers).map(work.subscriber))
                    let wire = work.writer()
                    let writer = try trial.loop.connect(port: trial.port, index: subscribers, wire: wire)
                    try trial.loop.turn(until: { writer.isReady }, within: 60, "the writer did not become ready")
                    func race(writesMax: Int, seconds: Double) throws -> NotifyRace.Result {
                        try NotifyRace(
                            trial.loop,
                            writer: (writer, wire),
                            subscribers: subscribers,
                            inFlight: inFlight,
                            writesMax: writesMax
                        ).run(seconds: seconds)
                    }
                    // Warm-up: the first writes grow files and tables, which later writes reuse.
                    _ = try race(writesMax: work.writesMax / 10, seconds: bench.options.seconds / 4)
                    let (result, effort) = try trial.effort {
                        try race(writesMax: work.writesMax, seconds: bench.options.seconds)
                    }
                    return [Figure(value: result.rate, latency: result.latency, effort: effort)]
                }
            }
        }
        try turns.run(unit: "deliveries/s", comparesLatency: inFlight == 1).forEach(report.add)
    }
}
