import ArgumentParser
import Histogram
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// The first result of a long list, until its last byte arrives, and its effect on the commits of another client.
struct FirstCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "first",
        abstract: "Subscribe to a list of 1 M rows while another connection commits.",
        discussion: """
            The limit of the subscription is SQLite alone reading the same rows in their order. The limit of the commits
            is the same connection's commits while nothing is read.

            Example: nestbench first --rows 200000
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Rows of the list.") var rows = 1_000_000
    @Option(help: "Commits to time while nothing is read.") var commits = 2_000

    func run() async throws {
        let target = try BenchTarget(self.options)
        let report = Report(isJSON: self.options.json)
        let writer = try await target.connect()
        let list = try await target.makeParent(writer, 1)
        var requestID: UInt32 = 2
        for start in stride(from: 0, to: self.rows, by: 5_000) {
            let numbers = start..<min(start + 5_000, self.rows)
            let mutations = numbers.map { Load.insert(under: list, BenchText.title($0)) }
            let frame = TransactionMessage(WriteTransaction(mutations: mutations)).frame(id: requestID)
            _ = try await writer.request(frame)
            requestID += 1
        }
        let other = try await target.makeParent(writer, requestID)
        let limit = try SQLiteLimit(directory: self.options.directory)
        defer { limit.close() }
        _ = try limit.insert(rows: self.rows, perTransaction: 5_000, title: BenchText.title)
        var ways = [
            Way(rows: self.rows, features: BenchConnection.features, name: ""),
            Way(rows: self.rows, features: BenchConnection.features.subtracting(.compressedFrames), name: ", plain"),
        ]
        requestID += 1
        // A thread of its own: on the writer's, its unpacking of frames would count as time of the commits.
        let reading = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        for _ in 0..<self.options.rounds {
            for index in ways.indices {
                let alone = try await self.commit(writer, under: other, &requestID, count: self.commits)
                let isLoaded = NIOLockedValueBox(false)
                let subscriber = try await target.connect(features: ways[index].features, on: reading)
                async let time = seconds {
                    defer { isLoaded.withLockedValue { $0 = true } }
                    try await subscriber.subscribe(to: list) { _ in }
                }
                var during = Histogram<UInt64>(highestTrackableValue: 60_000_000)
                repeat {
                    during.add(try await self.commit(writer, under: other, &requestID, count: 50))
                } while !isLoaded.withLockedValue { $0 }
                let seconds = try await time
                let meter = HardwareMeter()
                let limitSeconds = try limit.readInOrder()
                ways[index].add(seconds, limitSeconds, meter.stop(), during, alone: alone)
                ways[index].byteCount = try await subscriber.bytesRead()
                try await subscriber.close()
            }
        }
        for way in ways { way.report(to: report) }
        try await writer.close()
        try await reading.shutdownGracefully()
        try await target.shutdown()
    }

    /// A way to receive the first result, with its measurements.
    private struct Way {
        let features: Features
        var byteCount = 0
        private var first: Measurement
        private var commits: Measurement
        private var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)

        init(rows: Int, features: Features, name: String) {
            self.features = features
            self.first = Measurement(
                workload: "first",
                parameters: "\(Report.short(Double(rows))) rows, to the last byte\(name)",
                unit: "s",
                nest: [],
                limitName: "SQLite alone reading them in order; seconds",
                limit: [],
                isTime: true,
                wanted: "floor 3, goal 2.2"
            )
            self.commits = Measurement(
                workload: "first",
                parameters: "p99 of others' commits meanwhile\(name)",
                unit: "us",
                nest: [],
                limitName: "p99 of the same commits while nothing is read",
                limit: [],
                isTime: true,
                wanted: "at most 3"
            )
        }

        mutating func add(
            _ seconds: Double,
            _ limit: Double,
            _ limitUse: HardwareUse,
            _ during: Histogram<UInt64>,
            alone: Histogram<UInt64>
        ) {
            self.first.nest.append(seconds)
            self.first.limit.append(limit)
            self.first.limitUse.append(limitUse)
            self.commits.nest.append(Double(during.valueAtPercentile(99)))
            self.commits.limit.append(Double(alone.valueAtPercentile(99)))
            self.latency.add(during)
        }

        func report(to report: Report) {
            report.add(self.first)
            report.note("\(Report.fixed(Double(self.byteCount) / 1e6)) MB received")
            var commits = self.commits
            commits.latency = self.latency
            report.add(commits)
        }
    }

    /// Commits rows, one at a time.
    private func commit(
        _ connection: BenchConnection,
        under parent: ObjectID,
        _ requestID: inout UInt32,
        count: Int
    ) async throws -> Histogram<UInt64> {
        defer { requestID += UInt32(count) }
        return try await Pipeline.run(
            connection,
            depth: 1,
            total: count,
            firstID: requestID,
            answers: [.receipt]
        ) { Load.insertFrame(under: parent, id: $0) }
    }
}
