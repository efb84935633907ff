import ArgumentParser
import Histogram

/// Subscribers over WebSocket, against subscribers over TCP of the same nestd.
struct WebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Measure deliveries over WebSocket, against the same over TCP.",
        discussion: """
            The figures of one round come from one nestd. The processor time is that of nestd, for one delivery.

            Example: nestbench web --subscribers 1000 --in-flight 64
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Subscribers.") var subscribers = 1_000
    @Option(help: "Writes in flight.") var inFlight = 64
    @Option(help: "Approximate number of deliveries in each round.") var deliveries = 1_000_000

    /// One round over one carrier.
    private struct Round {
        let perSecond: Double
        let nanosecondsEach: Double
        let latency: Histogram<UInt64>
    }

    func run() async throws {
        let target = try BenchTarget(self.options, hasWeb: true)
        var rate = self.measurement("/s", "the same nestd over TCP: deliveries a second")
        rate.wanted = "at least 0.9 of TCP"
        var time = self.measurement("ns", "the same nestd over TCP: processor time of a delivery")
        time.isTime = true
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        for _ in 0..<self.options.rounds {
            let web = try await self.round(target) { try await target.connectWebSocket() }
            let plain = try await self.round(target) { try await target.connect() }
            rate.nest.append(web.perSecond)
            rate.limit.append(plain.perSecond)
            time.nest.append(web.nanosecondsEach)
            time.limit.append(plain.nanosecondsEach)
            latency.add(web.latency)
        }
        rate.latency = latency
        let report = Report(isJSON: self.options.json)
        report.add(rate)
        report.add(time)
        try await target.shutdown()
    }

    private func measurement(_ unit: String, _ limitName: String) -> Measurement {
        Measurement(
            workload: "web",
            parameters: "\(self.subscribers) subscribers, \(self.inFlight) in flight",
            unit: unit,
            nest: [],
            limitName: limitName,
            limit: []
        )
    }

    private func round(_ target: BenchTarget, _ connect: () async throws -> BenchConnection) async throws -> Round {
        let writes = max(self.deliveries / self.subscribers, 200)
        let before = target.child?.processorTime ?? 0
        let size = FanoutRound.Size(subscribers: self.subscribers, inFlight: self.inFlight, writes: writes)
        let round = try await FanoutRound(target, size, connect: connect)
        let seconds = (target.child?.processorTime ?? 0) - before
        return Round(
            perSecond: round.perSecond,
            nanosecondsEach: seconds * 1e9 / Double(writes * self.subscribers),
            latency: round.latency
        )
    }
}
