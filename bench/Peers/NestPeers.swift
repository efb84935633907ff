import ArgumentParser
import PeerWires

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
    @Option(parsing: .upToNextOption, help: "Subscribers.") var subscribers = [1, 100, 1_000, 5_000]
    @Option(parsing: .upToNextOption, help: "Writes in flight.") var inFlight = [1, 64]

    func validate() throws {
        try Bounds.check(self.subscribers, 1...9_000, "--subscribers")
        // What nestd takes of one connection is 128.
        try Bounds.check(self.inFlight, 1...128, "--in-flight")
    }

    func run() throws {
        try self.options.run { try NotifyWorkload(subscribers: self.subscribers, inFlight: self.inFlight).run($0, $1) }
    }
}

struct RequestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Requests and answers: something small read, and the least that can be asked."
    )
    @OptionGroup var options: PeerOptions
    @Option(parsing: .upToNextOption, help: "Connections.") var connections = [1, 64]
    @Option(parsing: .upToNextOption, help: "Requests in flight on each.") var depth = [1, 16]

    func validate() throws {
        try Bounds.check(self.connections, 1...9_000, "--connections")
        try Bounds.check(self.depth, 1...100, "--depth")
    }

    func run() throws {
        try self.options.run { try RequestWorkload(connections: self.connections, depths: self.depth).run($0, $1) }
    }
}

struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Many items written in bulk, then read as one ordered list."
    )
    @OptionGroup var options: PeerOptions
    @Option(help: "Items.") var items = 1_000_000

    func validate() throws { try Bounds.check([self.items], 1...10_000_000, "--items") }

    func run() throws {
        try self.options.run { try LoadWorkload(items: self.items).run($0, $1) }
    }
}

struct AllCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "All three as they come: about half an hour."
    )
    @OptionGroup var options: PeerOptions
    @Option(help: "Items of load.") var items = 1_000_000

    func validate() throws { try Bounds.check([self.items], 1...10_000_000, "--items") }

    func run() throws {
        try self.options.run { bench, report in
            try NotifyWorkload(subscribers: [1, 100, 1_000, 5_000], inFlight: [1, 64]).run(bench, report)
            try RequestWorkload(connections: [1, 64], depths: [1, 16]).run(bench, report)
            try LoadWorkload(items: self.items).run(bench, report)
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

enum Bounds {
    static func check(_ values: [Int], _ bounds: ClosedRange<Int>, _ option: String) throws {
        guard values.allSatisfy(bounds.contains) else {
            throw ValidationError("\(option) is \(bounds.lowerBound) to \(bounds.upperBound)")
        }
    }
}
