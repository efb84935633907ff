import ArgumentParser
import Foundation
import Histogram
import NIOConcurrencyHelpers
import NIOPosix
import NestClient
import NestModel
import NestProtocol

/// How long a large value lets the commits of another client wait, and how much memory it takes.
struct ValuesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "values",
        abstract: "Put and get a large value while another client commits rows.",
        discussion: """
            The figure is the longest time of one of the other client's one-row commits, one at a time. Its limit is \
            the median of the same commits while nothing else happens. Below it are the peaks of the memory of nestd, \
            and of 'nestc put' and 'nestc get' in the same round.

            Example: nestbench values --bytes 16777216 --rounds 5
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Bytes of the value.") var bytes = 16 << 20
    @Option(help: "Commits to time while nothing else happens.") var commits = 500
    @Option(help: ArgumentHelp("Measure this nestd.", valueName: "file")) var nestd: String?

    func validate() throws {
        guard self.options.server == nil else { throw ValidationError("values starts a nestd of its own") }
        guard (1...16 << 20).contains(self.bytes) else { throw ValidationError("--bytes must be 1 to 16777216") }
    }

    /// The built-in model, whose items have a large value in place of one of their texts. A server numbers attributes
    /// and relationships as they are listed.
    private static let model = """
        {"format": "nest-model", "entities": [{
            "name": "Item", "root": {"relationship": "parent", "object": 1},
            "attributes": [
                {"name": "title", "type": "string", "default": "", "optional": true},
                {"name": "note", "type": "string", "optional": true},
                {"name": "done", "type": "boolean", "default": false},
                {"name": "scan", "type": "largeData", "optional": true}],
            "relationships": [
                {"name": "parent", "destination": "Item", "inverse": "children", "deleteRule": "nullify"},
                {"name": "children", "destination": "Item", "inverse": "parent", "toMany": true, "ordered": true,
                    "deleteRule": "cascade"}]}]}
        """
    private static let scan = PropertyNumber(4)

    func run() async throws {
        let directory = try Child.makeDirectory(under: self.options.directory)
        let (model, file) = ("\(directory)/model.json", "\(directory)/value")
        try Self.model.write(toFile: model, atomically: true, encoding: .utf8)
        // Random bytes do not become fewer when they are packed.
        let value = (0..<self.bytes / 8 + 1).flatMap { _ in
            withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { Array($0) }
        }.prefix(self.bytes)
        try Data(value).write(to: URL(fileURLWithPath: file))
        let child = try Child(
            "nestd",
            ["--port", "0", "--store", "\(directory)/nest.sqlite", "--log-level", "error", "--model", model],
            directory: directory,
            path: self.nestd
        )
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let target = BenchTarget(host: "127.0.0.1", port: child.port, child: child, group: group)
        let configuration = ClientConfiguration(
            host: target.host,
            port: target.port,
            clientName: "nestbench",
            session: .fresh
        )
        try await NestClient.withClient(configuration) { try await self.measure(Array(value), file, $0, target) }
        try await target.shutdown()
    }

    private func measure(_ value: [UInt8], _ file: String, _ client: NestClient, _ target: BenchTarget) async throws {
        let report = Report(isJSON: self.options.json)
        let other = try await BulkCommand.OtherClient(target)
        let item = try await client.transaction(WriteTransaction(mutations: [Load.insert(under: ObjectID(1))]))
        guard let id = item.firstInserted else { throw BenchError.nothingInserted }
        var figures = ["put", "get"].map {
            LongestCommit("values", "\($0), \(Report.short(Double(self.bytes))) bytes", wanted: "goal 0.1 s")
        }
        var peaks: [(nestd: Int, put: Int, get: Int)] = []
        for round in 0..<self.options.rounds {
            Progress.show("values: round \(round + 1)")
            let alone = Double(try await other.commit(self.commits).valueAtPercentile(50))
            for index in figures.indices {
                let isDone = NIOLockedValueBox(false)
                let start = ContinuousClock.now
                async let performed = {
                    defer { isDone.withLockedValue { $0 = true } }
                    if index == 0 {
                        let sent = try await client.send(.largeData, value)
                        let assignment = PropertyAssignment(Self.scan, .value(sent.value))
                        let update = Mutation.update(.object(id), values: [assignment])
                        _ = try await client.transaction(WriteTransaction(mutations: [update]))
                    } else {
                        guard try await client.data(of: id, Self.scan) == value else {
                            throw BenchError.failed("the value is not what was sent")
                        }
                    }
                    return (ContinuousClock.now - start).seconds
                }()
                var during = Histogram<UInt64>(highestTrackableValue: 600_000_000)
                repeat { during.add(try await other.commit(1)) } while !isDone.withLockedValue { $0 }
                figures[index].add(during, alone: alone, seconds: try await performed)
            }
            let server = "\(target.host):\(target.port)"
            let nestd = target.child?.memory
            nestd?.resetPeak()
            let put = try await MeasuredCommand(server: server, ["put", "\(id)", "scan", file]).peak
            let get = try await MeasuredCommand(server: server, ["get", "\(id)", "scan", "\(file).read"]).peak
            peaks.append((nestd?.peak ?? 0, put, get))
        }
        Progress.clear()
        for figures in figures { figures.report("the transfer", to: report) }
        func peak(_ of: ((nestd: Int, put: Int, get: Int)) -> Int) -> Int { (peaks.map(of).max() ?? 0) >> 20 }
        report.note(
            "peak memory: nestd \(peak(\.nestd)) MiB, nestc put \(peak(\.put)) MiB, nestc get \(peak(\.get)) MiB"
        )
        try await other.close()
    }
}
