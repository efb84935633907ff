import ArgumentParser
import Histogram
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Pipelined pings, against a C server that echoes the same bytes.
struct EchoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract: "Measure pings per second, against a C echo server.",
        discussion: "Example: nestbench echo --connections 16 --in-flight 16"
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Connections.") var connections = 16
    @Option(help: "Pings in flight on each connection.") var inFlight = 16
    @Option(help: "Pings in each round, over all connections.") var requests = 200_000

    func run() async throws {
        let target = try BenchTarget(self.options)
        let limit = try Child("nestbench", ["serve-echo"])
        var measurement = Measurement(
            workload: "echo",
            parameters: "\(self.connections) x \(self.inFlight) in flight",
            unit: "/s",
            nest: [],
            limitName: "C, epoll, an echo of the same bytes",
            limit: []
        )
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        for _ in 0..<self.options.rounds {
            let pings = try await self.round(target.child, Ping(payload: 7).frame(id: 0)) { try await target.connect() }
            // A client answers a ping, so it gets back a pong, as it does from nest.
            let pongs = try await self.round(limit, Pong(payload: 7).frame(id: 0)) {
                try await .connectRaw(
                    host: "127.0.0.1",
                    port: limit.port,
                    on: target.group,
                    decodes: true,
                    hasPreface: false
                )
            }
            measurement.nest.append(pings.perSecond)
            measurement.limit.append(pongs.perSecond)
            if let use = pings.use { measurement.nestUse.append(use) }
            if let use = pongs.use { measurement.limitUse.append(use) }
            latency.add(pings.latency)
        }
        measurement.latency = latency
        Report(isJSON: self.options.json).add(measurement)
        try await target.shutdown()
    }

    private struct Round {
        var perSecond: Double
        var latency: Histogram<UInt64>
        var use: HardwareUse?
    }

    /// Sends the frame on all connections, each time a pong has come.
    private func round(
        _ server: Child?,
        _ frame: ByteBuffer,
        _ connect: () async throws -> BenchConnection
    ) async throws -> Round {
        var connections: [BenchConnection] = []
        for _ in 0..<self.connections { connections.append(try await connect()) }
        let each = self.requests / self.connections
        let depth = self.inFlight
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        let meter = server.map { HardwareMeter($0) }
        let time = try await seconds {
            try await withThrowingTaskGroup(of: Histogram<UInt64>.self) { group in
                for connection in connections {
                    group.addTask {
                        try await Pipeline.run(
                            connection,
                            depth: depth,
                            total: each,
                            firstID: 1,
                            answers: [.pong]
                        ) { _ in frame }
                    }
                }
                for try await histogram in group { latency.add(histogram) }
            }
        }
        let use = meter?.stop()
        for connection in connections { try await connection.close() }
        return Round(perSecond: Double(each * self.connections) / time, latency: latency, use: use)
    }
}
