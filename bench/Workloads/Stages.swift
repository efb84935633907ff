import ArgumentParser
import BenchStages
import Histogram
import NIOCore
import NIOPosix
import NestModel
import NestProtocol

/// Where the time of a write goes that is alone in the server.
struct StagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stages",
        abstract: "Measure each stage of a one-row commit, from the client's call to the last subscriber's bytes.",
        discussion: """
            One write is in flight. Server and clients are threads of this process, which records when they read,
            write and call fdatasync. `100: fdatasync` is that stage with 100 subscribers; the loop is an event loop
            of the server. The whole is compared with the server in C of `nestbench fanout`.
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Subscribers of the list, instead of 1 and 100.") var subscribers: Int?
    @Option(help: "Writes in each round.") var writes = 2_000

    func validate() throws {
        guard self.options.server == nil else {
            throw ValidationError("stages runs the server in its own process: omit --server")
        }
        guard (1...1_000).contains(self.subscribers ?? 1) else {
            throw ValidationError("--subscribers must be 1 to 1000")
        }
        guard (1...100_000).contains(self.writes) else { throw ValidationError("--writes must be 1 to 100000") }
    }

    func run() async throws {
        let report = Report(isJSON: self.options.json)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        for count in self.subscribers.map({ [$0] }) ?? [1, 100] {
            try await self.measure(report, subscribers: count, on: group)
        }
        try await group.shutdownGracefully()
    }

    private func measure(_ report: Report, subscribers: Int, on group: MultiThreadedEventLoopGroup) async throws {
        let size = FanoutRound.Size(subscribers: subscribers, inFlight: 1, writes: self.writes)
        let parameters = "\(subscribers) subscriber\(subscribers == 1 ? "" : "s")"
        var stages = CommitStage.allCases.map { stage in
            Measurement(
                workload: "stages",
                parameters: "\(subscribers): \(stage)",
                unit: "us",
                nest: [],
                limitName: "",
                limit: [],
                latency: Histogram(highestTrackableValue: 60_000_000),
                isTime: true
            )
        }
        var whole = Measurement(
            workload: "stages",
            parameters: "\(parameters): to the last",
            unit: "us",
            nest: [],
            limitName: "C, epoll, a file write and fdatasync for each write; median time to the last subscriber",
            limit: [],
            isTime: true
        )
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        for _ in 0..<self.options.rounds {
            let (timelines, round) = try await Self.round(size, in: self.options.directory, on: group)
            for stage in CommitStage.allCases {
                let times = timelines.map { $0[stage] }
                stages[stage.rawValue].nest.append(Measurement.median(times.map { Double($0) / 1e3 }))
                for time in times { stages[stage.rawValue].latency?.record(time / 1_000) }
            }
            let limit = try await FanoutLimit.round(self.options.directory, size, as: round, on: group)
            whole.nest.append(Double(round.latency.valueAtPercentile(50)))
            whole.limit.append(Double(limit.latency.valueAtPercentile(50)))
            latency.add(round.latency)
        }
        whole.latency = latency
        for stage in stages { report.add(stage) }
        report.add(whole)
    }

    /// Runs one round of a server of its own, and splits its writes into their stages.
    static func round(
        _ size: FanoutRound.Size,
        in directory: String,
        on group: MultiThreadedEventLoopGroup
    ) async throws -> ([CommitTimeline], FanoutRound) {
        let server = try await TracedServer(under: directory)
        do {
            let result = try await Self.round(size, of: server, on: group)
            try await server.stop()
            return result
        } catch {
            try? await server.stop()
            throw error
        }
    }

    private static func round(
        _ size: FanoutRound.Size,
        of server: TracedServer,
        on group: MultiThreadedEventLoopGroup
    ) async throws -> ([CommitTimeline], FanoutRound) {
        let target = BenchTarget(host: "127.0.0.1", port: server.port, child: nil, group: group)
        let client = try await group.any().submit { Trace.thread }.get()
        let writer = try await target.connect()
        let parent = try await target.makeParent(writer, 1)
        var subscribers: [BenchConnection] = []
        for _ in 0..<size.subscribers {
            let connection = try await target.connect()
            try await connection.subscribe(to: parent) { _ in }
            subscribers.append(connection)
        }
        var round: FanoutRound?
        let events = try await Trace.record {
            round = try await FanoutRound(size, writer, subscribers, of: nil, on: group) {
                Load.insertFrame(under: parent, id: UInt32($0 + 2))
            }
        }
        let timelines = CommitTimeline.all(in: events, client: client)
        guard let round, timelines.count == size.writes else {
            throw BenchError.failed("\(timelines.count) of \(size.writes) writes have all their stages")
        }
        return (timelines, round)
    }
}
