import ArgumentParser
import Histogram
import NIOCore
import NestModel
import NestProtocol

/// One-row transactions over TCP, each durable before its reply. Writes that wait at the same time share a commit.
struct CommitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "commit",
        abstract: "Measure one-row commits per second, against SQLite alone.",
        discussion: """
            By default it runs two cases: 1 connection with 1 request in flight, against SQLite with one row per
            transaction; and 64 connections with 16 in flight, against SQLite with 100 rows per transaction.
            --connections and --in-flight replace them by one case.
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Connections, instead of the two default cases.") var connections: Int?
    @Option(help: "Requests in flight on each connection.") var inFlight: Int?
    @Option(help: "Requests in each round.") var requests: Int?

    func run() async throws {
        let target = try BenchTarget(self.options)
        let report = Report(isJSON: self.options.json)
        if self.connections != nil || self.inFlight != nil {
            try await self.measure(
                target,
                report,
                connections: self.connections ?? 1,
                inFlight: self.inFlight ?? 1,
                requests: self.requests ?? 50_000
            )
        } else {
            try await self.measure(target, report, connections: 1, inFlight: 1, requests: self.requests ?? 10_000)
            try await self.measure(target, report, connections: 64, inFlight: 16, requests: self.requests ?? 100_000)
        }
        try await target.shutdown()
    }

    private func measure(
        _ target: BenchTarget,
        _ report: Report,
        connections count: Int,
        inFlight: Int,
        requests: Int
    ) async throws {
        let perTransaction = count * inFlight == 1 ? 1 : 100
        var measurement = Measurement(
            workload: "commit",
            parameters: "\(count) x \(inFlight) in flight",
            unit: "rows/s",
            nest: [],
            limitName: "SQLite alone, \(perTransaction) row\(perTransaction == 1 ? "" : "s") a transaction, FULL",
            limit: []
        )
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        let sqlite = try SQLiteLimit(directory: self.options.directory)
        defer { sqlite.close() }
        for _ in 0..<self.options.rounds {
            var connections: [BenchConnection] = []
            for _ in 0..<count { connections.append(try await target.connect()) }
            let parent = try await target.makeParent(connections[0], 1)
            let each = requests / count
            var histograms: [Histogram<UInt64>] = []
            let nestMeter = target.child.map { HardwareMeter($0) }
            let time = try await seconds {
                histograms = try await withThrowingTaskGroup(of: Histogram<UInt64>.self) { group in
                    for connection in connections {
                        group.addTask {
                            try await Pipeline.run(
                                connection,
                                depth: inFlight,
                                total: each,
                                firstID: 2,
                                answers: [.receipt]
                            ) { Load.insertFrame(under: parent, id: $0) }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            if let use = nestMeter?.stop() { measurement.nestUse.append(use) }
            for histogram in histograms { latency.add(histogram) }
            for connection in connections { try await connection.close() }
            measurement.nest.append(Double(each * count) / time)
            let disk = try Disk.syncsPerSecond(in: self.options.directory)
            let meter = HardwareMeter()
            measurement.limit.append(try sqlite.insert(rows: requests, perTransaction: perTransaction))
            measurement.limitUse.append(meter.stop(syncs: requests / perTransaction, disk: disk))
        }
        measurement.latency = latency
        report.add(measurement)
    }
}
