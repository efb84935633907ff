import ArgumentParser
import Histogram
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// All subscribers reconnect after a crash: the time until the last one is up to date.
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Kill a nestd, restart it on the same store, and let all its subscribers resume at once.",
        discussion: """
            Before the subscribers resume, rows are added, so that each subscriber receives a diff. While they resume,
            another connection commits to another list. The limit is a C server with the same number of connections,
            each of which sends and receives the same number of bytes.

            Examples:
              nestbench resume --subscribers 2000
              nestbench resume --lists 5000 --rows 100      (at most two subscribers share a result)
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Subscribers; fewer if there are not enough descriptors.")
    var subscribers = Limits.connectionsMax - 1
    @Option(help: "Lists to subscribe to.") var lists = 1
    @Option(help: "Rows of each list.") var rows = 1_000
    @Option(help: "Rows added to each list before the subscribers resume.") var missed = 10

    func validate() throws {
        guard self.options.server == nil else { throw ValidationError("resume kills its server; remove --server") }
        guard (1..<Limits.connectionsMax).contains(self.subscribers) else {
            throw ValidationError("--subscribers must be 1 to \(Limits.connectionsMax - 1)")
        }
        guard (1...Limits.connectionsMax).contains(self.lists) else {
            throw ValidationError("--lists must be 1 to \(Limits.connectionsMax)")
        }
        guard (0...Limits.mutationsPerTransactionMax).contains(self.rows) else {
            throw ValidationError("--rows must be 0 to \(Limits.mutationsPerTransactionMax)")
        }
        guard (0...1_000).contains(self.missed) else { throw ValidationError("--missed must be 0 to 1000") }
    }

    func run() async throws {
        let count = min(self.subscribers, Descriptors.connectionsMax())
        let groups = (MultiThreadedEventLoopGroup(numberOfThreads: 1), MultiThreadedEventLoopGroup(numberOfThreads: 1))
        var (rounds, latency) = ([Round](), Histogram<UInt64>(highestTrackableValue: 60_000_000))
        for number in 0..<self.options.rounds {
            Progress.show("round \(number + 1)")
            let round = try await self.round(count, groups.0, writing: groups.1)
            latency.add(round.meanwhile)
            rounds.append(round)
        }
        Progress.clear()
        self.report(rounds, count, latency)
        try await groups.0.shutdownGracefully()
        try await groups.1.shutdownGracefully()
    }

    private func report(_ rounds: [Round], _ count: Int, _ latency: Histogram<UInt64>) {
        let report = Report(isJSON: self.options.json)
        let bytes = rounds.last.map { "\($0.requestBytes) B to the server, \($0.answerBytes) B back" } ?? ""
        report.add(
            Measurement(
                workload: "resume",
                parameters: "\(count) resume" + (self.lists > 1 ? " to \(self.lists) lists" : ", to the last"),
                unit: "s",
                nest: rounds.map(\.resumed),
                limitName: "C, epoll, the same number of connections, \(bytes); seconds",
                limit: rounds.map(\.limit),
                limitUse: rounds.compactMap(\.limitUse),
                isTime: true
            )
        )
        report.note("first subscriptions, with all rows: \(Report.fixed(Measurement.median(rounds.map(\.first)))) s")
        report.add(
            Measurement(
                workload: "resume",
                parameters: "p99 of others' commits meanwhile",
                unit: "us",
                nest: rounds.map { Double($0.meanwhile.valueAtPercentile(99)) },
                limitName: "p99 of the same commits while no client connects",
                limit: rounds.map { Double($0.alone.valueAtPercentile(99)) },
                latency: latency,
                isTime: true
            )
        )
    }

    private struct Round {
        /// The seconds until the last subscriber is up to date: with first subscriptions, with resumed ones, and of the
        /// limit.
        var first = 0.0
        var resumed = 0.0
        var limit = 0.0
        var limitUse: HardwareUse?
        var requestBytes = 0
        var answerBytes = 0
        var alone = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        var meanwhile = Histogram<UInt64>(highestTrackableValue: 60_000_000)
    }

    private func round(
        _ count: Int,
        _ group: MultiThreadedEventLoopGroup,
        writing: MultiThreadedEventLoopGroup
    ) async throws -> Round {
        var round = Round()
        let directory = try Child.makeDirectory(under: self.options.directory)
        let server = try Child.nestd(in: directory)
        var writer = try await Writer(port: server.port, writing)
        var lists: [ObjectID] = []
        for _ in 0..<self.lists {
            lists.append(try await writer.insert(1, under: ObjectID(1)).inserted)
            _ = try await writer.insert(self.rows, under: lists[lists.count - 1])
        }
        let other = try await writer.insert(1, under: ObjectID(1)).inserted
        round.alone = try await writer.commit(1_000, under: other)
        let held = try await writer.insert(1, under: other).revision
        let requests = lists.map { list in
            ObjectFetchRequest(
                entity: EntityNumber(1),
                source: FetchSource(object: list, relationship: PropertyNumber(6))
            )
        }
        let firsts = Storm(count, port: server.port, on: group, .subscribing(to: requests, resume: nil))
        round.first = try await firsts.run()
        server.killNow()
        try await firsts.close()

        let again = try Child.nestd(in: directory, removes: directory)
        writer = try await Writer(port: again.port, writing)
        for list in lists where self.missed > 0 { _ = try await writer.insert(self.missed, under: list) }
        let resume = ResumePoint(historyID: writer.historyID, revision: held)
        let storm = Storm(count, port: again.port, on: group, .subscribing(to: requests, resume: resume))
        let isOver = NIOLockedValueBox(false)
        async let time = {
            defer { isOver.withLockedValue { $0 = true } }
            return try await storm.run()
        }()
        repeat { round.meanwhile.add(try await writer.commit(20, under: other)) } while !isOver.withLockedValue { $0 }
        round.resumed = try await time
        round.requestBytes = Storm.Visit.requestBytes(requests[0], resume: resume)
        round.answerBytes = try await storm.bytesRead()
        try await storm.close()
        try await writer.close()

        let limit = try Child(
            "nestbench",
            ["serve-answers", "--request-bytes", "\(round.requestBytes)", "--answer-bytes", "\(round.answerBytes)"]
        )
        let visits = Storm(count, port: limit.port, on: group, .answered(round.requestBytes, round.answerBytes))
        let meter = HardwareMeter(limit)
        round.limit = try await visits.run()
        round.limitUse = meter.stop()
        try await visits.close()
        return round
    }

    /// A client that writes one transaction at a time, on its own event loop.
    private struct Writer {
        let connection: BenchConnection
        let historyID: Identifier128
        private var requestID: UInt32 = 0

        init(port: Int, _ group: MultiThreadedEventLoopGroup) async throws {
            (self.connection, self.historyID) = try await BenchConnection.connectWithHistoryID(port: port, on: group)
        }

        mutating func insert(_ count: Int, under parent: ObjectID) async throws -> (
            inserted: ObjectID, revision: Revision
        ) {
            self.requestID += 1
            let mutations = [Mutation](repeating: Load.insert(under: parent), count: count)
            let frame = TransactionMessage(WriteTransaction(mutations: mutations)).frame(id: self.requestID)
            let receipt = try ReceiptMessage(body: await self.connection.request(frame).body).receipt
            return (receipt.firstInserted ?? parent, receipt.revision)
        }

        mutating func commit(_ count: Int, under parent: ObjectID) async throws -> Histogram<UInt64> {
            let first = self.requestID + 1
            self.requestID += UInt32(count)
            return try await Pipeline.run(
                self.connection,
                depth: 1,
                total: count,
                firstID: first,
                answers: [.receipt]
            ) { Load.insertFrame(under: parent, id: $0) }
        }

        func close() async throws { try await self.connection.close() }
    }
}
