import ArgumentParser
import Foundation
import NestMeaning
import NestTestSupport

/// Sends random requests to the engine, for hours if needed: `make meaning`. A short run is part of `make test`.
@main struct MeaningCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestmeaning",
        abstract: "Send random requests on random models to the engine, with changes between them.",
        discussion: """
            Each seed generates its own model, clients and requests. The first failure ends the run: the command \
            prints the seed and exits with status 1. Replay it with --first SEED --seeds 1. A trap ends the process: \
            its seed is one of the hundred after the last printed line.
            """
    )

    @Option(help: "The first seed.")
    var first: UInt64 = 0

    @Option(help: "The number of seeds.")
    var seeds: UInt64 = 1_000

    @Option(help: "The number of requests for each seed.")
    var requests = 500

    func run() throws {
        var total = MeaningTotal()
        for seed in self.first..<(self.first + self.seeds) {
            do {
                let run = try MeaningRun(SeededRandom(seed: seed), model: seed)
                try run.run(requests: self.requests)
                try run.close()
                total.add(run)
            } catch {
                print("seed \(seed): \(error)")
                throw ExitCode.failure
            }
            // Flushed at once, also to a file: a trap would lose buffered output.
            if seed % 100 == 99 {
                print("after seed \(seed): \(total)")
                fflush(nil)
            }
        }
        print(total)
    }
}
