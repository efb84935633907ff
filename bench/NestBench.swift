import ArgumentParser
import NestModel

/// The load harness: `nestbench commit`, `nestbench fanout`, …, each against a nestd of its own or a running one.
@main
struct NestBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestbench",
        abstract: "Measure nestd, and in the same run the raw limit it is compared with.",
        discussion: """
            Without --server each workload starts a nestd of its own (the one beside nestbench) on a store in a temporary
            directory, and stops it. Figures are medians of --rounds rounds; what counts is the ratio, taken in the same
            round. See bench/README.md for how to read them.

            Examples:
              nestbench commit
              nestbench fanout --subscribers 1000 --in-flight 64
              nestbench order --json
              nestbench undo --sizes 1000 1000000 --shapes chain
              nestbench subtree --items 100000
              nestbench results size memory
              nestbench resume --subscribers 2000
              nestbench scaling subscribers depth --quick
              nestbench attack held-replies pings --seconds 5
              nestbench proxy --random --seed 7
              nestbench all
            """,
        subcommands: [
            CommitCommand.self, FanoutCommand.self, EchoCommand.self, OrderCommand.self, UndoCommand.self,
            SubtreeCommand.self, FirstCommand.self, ResultsCommand.self, ResumeCommand.self, ScalingCommand.self,
            AttackCommand.self,
            AllCommand.self, ProxyCommand.self, ServeFanout.self, ServeEcho.self, ServeAnswers.self,
        ]
    )
}

struct BenchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A running nestd; its data will be written to.", valueName: "host:port"))
    var server: String?

    @Option(help: "Rounds; nest and its limit take turns, figures are medians.")
    var rounds = 3

    @Option(help: ArgumentHelp("The directory for stores and files of the limits.", valueName: "directory"))
    var directory = "/tmp"

    @Flag(help: "One JSON object per measurement.")
    var json = false

    func validate() throws {
        guard (1...99).contains(self.rounds) else { throw ValidationError("--rounds is 1 to 99") }
    }
}

struct AllCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "all", abstract: "Run every workload as it comes.")
    @OptionGroup var options: BenchOptions

    func run() async throws {
        for name in ["echo", "commit", "fanout", "order", "undo", "subtree", "first", "results", "resume"] {
            var arguments = [name, "--rounds", "\(self.options.rounds)", "--directory", self.options.directory]
            if let server = self.options.server, !["results", "resume"].contains(name) {
                arguments += ["--server", server]
            }
            if self.options.json { arguments.append("--json") }
            guard var command = try NestBench.parseAsRoot(arguments) as? any AsyncParsableCommand else { continue }
            try await command.run()
        }
    }
}
