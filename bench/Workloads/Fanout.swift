import ArgumentParser
import Histogram
import NestModel

/// One writer and N subscribers of one list. Every change reaches every subscriber.
struct FanoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Measure one writer and N subscribers, against a C server that writes to a file and broadcasts.",
        discussion: """
            A delivery is one change that reaches one subscriber. With 1 write in flight, the next write is sent when
            the previous one is answered and has reached all subscribers. By default it runs N = 1, 100 and 1000, each
            with 1 and 64 writes in flight.
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Subscribers.") var subscribers: Int?
    @Option(help: "Writes in flight.") var inFlight: Int?
    @Option(help: "Approximate number of deliveries in each round.") var deliveries: Int?

    func run() async throws {
        let target = try BenchTarget(self.options)
        let report = Report(isJSON: self.options.json)
        for inFlight in self.inFlight.map({ [$0] }) ?? [1, 64] {
            for count in self.subscribers.map({ [$0] }) ?? [1, 100, 1_000] {
                let deliveries = self.deliveries ?? (inFlight == 1 ? 200_000 : 2_000_000)
                let writes = min(max(deliveries / count, 200), inFlight == 1 ? 4_000 : 40_000)
                try await self.measure(target, report, .init(subscribers: count, inFlight: inFlight, writes: writes))
            }
        }
        try await target.shutdown()
    }

    private func measure(_ target: BenchTarget, _ report: Report, _ size: FanoutRound.Size) async throws {
        var rate = Measurement(
            workload: "fanout",
            parameters: "\(size.subscribers) subscribers, \(size.inFlight) in flight",
            unit: "/s",
            nest: [],
            limitName: "C, epoll, a file write and fdatasync for each batch, joined frames; deliveries a second",
            limit: []
        )
        var last = Measurement(
            workload: "fanout",
            parameters: "\(size.subscribers) subscribers: to the last",
            unit: "us",
            nest: [],
            limitName: "the same; median time to the last subscriber",
            limit: [],
            isTime: true
        )
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        var changes: (nest: [Double], limit: [Double]) = ([], [])
        for _ in 0..<self.options.rounds {
            let nest = try await FanoutRound(target, size) { try await target.connect() }
            let limit = try await FanoutLimit.round(self.options.directory, size, as: nest, on: target.group)
            rate.nest.append(nest.perSecond)
            rate.limit.append(limit.perSecond)
            if let use = nest.use { rate.nestUse.append(use) }
            if let use = limit.use { rate.limitUse.append(use) }
            last.nest.append(Double(nest.latency.valueAtPercentile(50)))
            last.limit.append(Double(limit.latency.valueAtPercentile(50)))
            latency.add(nest.latency)
            changes.nest.append(nest.changesInDiff)
            changes.limit.append(limit.changesInDiff)
        }
        rate.latency = latency
        report.add(rate)
        if size.inFlight == 1 { return report.add(last) }
        let each = [changes.nest, changes.limit].map { Report.fixed(Measurement.median($0)) }
        report.note("changes in a diff: \(each[0]) of nest, \(each[1]) of the limit")
    }
}
