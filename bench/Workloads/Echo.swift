import ArgumentParser
import Histogram
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Pipelined pings, against a bare NIO server that echoes the same bytes.
struct EchoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract: "Measure pings per second, against a bare NIO echo server.",
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
            limitName: "bare NIO echo of the same bytes",
            limit: []
        )
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        for _ in 0..<self.options.rounds {
            measurement.nest.append(try await self.round(&latency) { try await target.connect() })
            var ignored = Histogram<UInt64>(highestTrackableValue: 60_000_000)
            measurement.limit.append(
                try await self.round(&ignored) {
                    let connection = try await BenchConnection.connectRaw(
                        host: "127.0.0.1",
                        port: limit.port,
                        on: target.group,
                        decodes: true
                    )
                    // The decoder skips the echoed preface.
                    connection.send(ByteBuffer(bytes: Preface.client.bytes))
                    return connection
                }
            )
        }
        measurement.latency = latency
        Report(isJSON: self.options.json).add(measurement)
        try await target.shutdown()
    }

    private func round(
        _ latency: inout Histogram<UInt64>,
        _ connect: () async throws -> BenchConnection
    ) async throws -> Double {
        var connections: [BenchConnection] = []
        for _ in 0..<self.connections { connections.append(try await connect()) }
        let each = self.requests / self.connections
        let depth = self.inFlight
        let frame = Ping(payload: 7).frame(id: 0)
        var histograms: [Histogram<UInt64>] = []
        let time = try await seconds {
            histograms = try await withThrowingTaskGroup(of: Histogram<UInt64>.self) { group in
                for connection in connections {
                    // The echo server returns a ping; nest answers with a pong.
                    group.addTask {
                        try await Pipeline.runAny(connection, depth: depth, total: each) { _ in frame }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        for histogram in histograms { latency.add(histogram) }
        for connection in connections { try await connection.close() }
        return Double(each * self.connections) / time
    }
}

extension Pipeline {
    /// Runs a pipeline that accepts a ping or a pong as the reply.
    static func runAny(
        _ connection: BenchConnection,
        depth: Int,
        total: Int,
        makeFrame: @escaping @Sendable (UInt32) -> ByteBuffer
    ) async throws -> Histogram<UInt64> {
        try await self.run(
            connection,
            depth: depth,
            total: total,
            firstID: 1,
            answers: [.ping, .pong],
            makeFrame: makeFrame
        )
    }
}
