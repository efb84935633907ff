import ArgumentParser
import Foundation
import NestMeaning
import NestTestSupport

/// Asks the engine random requests for hours: `make meaning`. The short run is part of `make test`.
@main struct MeaningCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestmeaning",
        abstract: "Asks the engine random requests, of random models, with changes between them.",
        discussion: """
            Each seed makes a model, clients and requests of its own. The first failure ends the run with its seed and \
            exit status 1; replay it with --first SEED --seeds 1. A trap ends the process: \
            it is in one of the hundred seeds after the last line.
            """
    )

    @Option(help: "The first seed.")
    var first: UInt64 = 0

    @Option(help: "How many seeds.")
    var seeds: UInt64 = 1_000

    @Option(help: "Requests of each seed.")
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
            // At once, also into a file: a trap would take what is not written with it.
            if seed % 100 == 99 {
                print("after seed \(seed): \(total)")
                fflush(nil)
            }
        }
        print(total)
    }
}
