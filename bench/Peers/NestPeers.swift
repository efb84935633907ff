import ArgumentParser
import PeerWires
import NestProtocol

/// Compares nest with servers that its users could use instead: `nestpeers notify`, `nestpeers request`, `nestpeers
/// load`, or `nestpeers all`.
@main
struct NestPeers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestpeers",
        abstract: "Measure nestd and, in the same run, servers that can do some of its work.",
        discussion: """
            Starts each server on loopback with an empty store in a temporary directory, measures it and ends it. nest
            and the peers alternate, round by round. All use the same load client, which has one thread; its processor
            use is printed with each figure. Peers that are not installed are skipped; make bench-peers installs them.
            See docs/performance.md.

            Examples:
              nestpeers all --output bench/report/data/peers.jsonl
              nestpeers notify --subscribers 100 --in-flight 64 --rounds 1 --seconds 0.5
              nestpeers notify --peers redis postgresql --subscribers 1000 --in-flight 1
              nestpeers request --peers redis grpc --connections 64 --depth 16 --json
              nestpeers load --items 100000 --rounds 1
              nestpeers all --subscribers 100 --items 10000 --rounds 1 --seconds 0.3
            """,
        subcommands: [NotifyCommand.self, RequestCommand.self, LoadCommand.self, AllCommand.self]
    )
}

struct NotifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Measure durable writes to one list with N subscribers.",
        discussion: """
            A delivery is one change that reaches one subscriber. Times run from just before a write is sent until the
            last subscriber has received it. With 1 write in flight, the next write is sent when the previous one is
            answered and has reached all subscribers.
            """
    )
    @OptionGroup var options: PeerOptions
    @OptionGroup var notify: NotifyOptions

    func run() throws { try self.options.run(self.notify.workload.run) }
}

struct RequestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Measure small reads, and the smallest possible requests."
    )
    @OptionGroup var options: PeerOptions
    @OptionGroup var request: RequestOptions

    func run() throws { try self.options.run(self.request.workload.run) }
}

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Measure writing many items in bulk, and reading them as one ordered list."
    )
    @OptionGroup var options: PeerOptions
    @OptionGroup var load: LoadOptions

    func run() throws { try self.options.run(self.load.workload.run) }
}

struct AllCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "Run all three, for about half an hour."
    )
    @OptionGroup var options: PeerOptions
    @OptionGroup var notify: NotifyOptions
    @OptionGroup var request: RequestOptions
    @OptionGroup var load: LoadOptions

    func run() throws {
        try self.options.run { bench, report in
            try self.notify.workload.run(bench, report)
            try self.request.workload.run(bench, report)
            try self.load.workload.run(bench, report)
        }
    }
}

extension PeerOptions {
    /// Runs `body` with a bench, and always ends the bench.
    func run(_ body: (Bench, Report) throws -> Void) throws {
        let report = try Report(isJSON: self.json, output: self.output)
        let bench = try Bench(self)
        defer { bench.end() }
        do {
            try body(bench, report)
        } catch is Interrupted {
            bench.end()
            Progress.say("interrupted; all servers have ended")
            throw ExitCode(130)
        }
    }
}
