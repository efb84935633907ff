import ArgumentParser
import NestModel

/// The load generator: `nestbench commit`, `nestbench fanout`, and so on. Each workload uses its own nestd or a running
/// one.
@main
struct NestBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestbench",
        abstract: "Measure nestd and, in the same run, the raw limit that it is compared with.",
        discussion: """
            Without --server each workload starts its own nestd (from nestbench's directory) on a store in a temporary
            directory and stops it at the end. Figures are medians of --rounds rounds. Compare ratios: both sides of a
            ratio are measured in the same round. docs/performance.md explains the figures.

            Examples:
              nestbench commit
              nestbench stages --subscribers 100
              nestbench fanout --subscribers 1000 --in-flight 64
              nestbench order --json
              nestbench undo --sizes 1000 1000000 --shapes chain
              nestbench subtree --items 100000
              nestbench bulk --items 1000000
              nestbench values --bytes 16777216
              nestbench results size memory
              nestbench outline depth --sizes 1000 100000
              nestbench web --subscribers 1000
              nestbench resume --subscribers 2000
              nestbench cache --rows 10000
              nestbench scaling subscribers depth --quick
              nestbench attack held-replies pings --seconds 5
              nestbench cluster kills --kills 100
              nestbench proxy --random --seed 7
              nestbench all
            """,
        subcommands: [
            CommitCommand.self, StagesCommand.self, FanoutCommand.self, EchoCommand.self, OrderCommand.self,
            UndoCommand.self,
            SubtreeCommand.self, BulkCommand.self, ValuesCommand.self, FirstCommand.self, ResultsCommand.self,
            OutlineCommand.self,
            ResumeCommand.self, CacheCommand.self, ScalingCommand.self, WebCommand.self, AttackCommand.self,
            ClusterCommand.self,
            AllCommand.self, ProxyCommand.self, ServeFanout.self, ServeEcho.self, ServeAnswers.self,
        ]
    )
}

struct BenchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use a running nestd. The workloads write to its store.", valueName: "host:port"))
    var server: String?

    @Option(help: "Number of rounds. nest and its limit alternate; figures are medians.")
    var rounds = 3

    @Option(help: ArgumentHelp("The directory for the stores and for the files of the limits.", valueName: "directory"))
    var directory = "/tmp"

    @Flag(help: "Print one JSON object for each measurement.")
    var json = false

    func validate() throws {
        guard (1...99).contains(self.rounds) else { throw ValidationError("--rounds must be 1 to 99") }
    }
}

struct AllCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "Run all but attack, cache, cluster, scaling, stages, values and web."
    )
    @OptionGroup var options: BenchOptions

    func run() async throws {
        for name in [
            "echo", "commit", "fanout", "order", "undo", "subtree", "bulk", "first", "results", "outline", "resume",
        ] {
            var arguments = [name, "--rounds", "\(self.options.rounds)", "--directory", self.options.directory]
            if let server = self.options.server, !["results", "outline", "resume"].contains(name) {
                arguments += ["--server", server]
            }
            if self.options.json { arguments.append("--json") }
            guard var command = try NestBench.parseAsRoot(arguments) as? any AsyncParsableCommand else { continue }
            try await command.run()
        }
    }
}
