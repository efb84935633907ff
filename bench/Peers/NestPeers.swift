import ArgumentParser
import PeerWires
import NestProtocol

/// nest against what its users would take instead: `nestpeers notify`, `nestpeers request`, `nestpeers load`, or all.
@main
struct NestPeers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestpeers",
        abstract: "Measure nestd, and in the same run the servers that could do some of its work.",
        discussion: """
            Each server is started on loopback with an empty store in a temporary directory, measured, and ended; nest and the
            peers take turns, round by round. One load client of one thread serves all; its share of a processor stands beside
            each figure. Peers that are not installed are skipped; make bench-peers installs them. See bench/README.md.

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
        abstract: "Durable writes to one list, of which N subscribers are told.",
        discussion: """
            A delivery is one change reaching one subscriber. Times run from just before a write is sent to the last subscriber;
            with 1 in flight the next goes out when the one before has reached all and is answered.
            """
    )
    @OptionGroup var options: PeerOptions
    @OptionGroup var notify: NotifyOptions

    func run() throws { try self.options.run(self.notify.workload.run) }
}

struct RequestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Requests and answers: something small read, and the least that can be asked."
    )
    @OptionGroup var options: PeerOptions
    @OptionGroup var request: RequestOptions

    func run() throws { try self.options.run(self.request.workload.run) }
}

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Many items written in bulk, then read as one ordered list."
    )
    @OptionGroup var options: PeerOptions
    @OptionGroup var load: LoadOptions

    func run() throws { try self.options.run(self.load.workload.run) }
}

struct AllCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "All three as they come: about half an hour."
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
    /// Runs with a bench that is taken down however it ends.
    func run(_ body: (Bench, Report) throws -> Void) throws {
        let report = try Report(isJSON: self.json, output: self.output)
        let bench = try Bench(self)
        defer { bench.end() }
        do {
            try body(bench, report)
        } catch is Interrupted {
            bench.end()
            Progress.say("interrupted; all servers are ended")
            throw ExitCode(130)
        }
    }
}
