import ArgumentParser

/// Measures the cost of live results: by their size, by subscriptions that a commit does not affect, in memory, and in
/// the journal.
struct ResultsCommand: AsyncParsableCommand {
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case size
        case unconcerned
        case unindexed
        case windows
        case memory
        case journal
    }

    static let configuration = CommandConfiguration(
        commandName: "results",
        abstract: "Measure the cost of live results for a commit, their memory, and the cost of the journal.",
        discussion: """
            Drives the engine in this process, without sockets. Stores are in memory, so a commit does not wait for a
            disk, and times are processor times of the thread. Only 'journal' uses the disk of --directory and waits
            for it.

              size         a one-row commit that changes a sorted result of --rows rows, against one of 1,000
              unconcerned  a one-row commit with --subscriptions that it does not affect, against none
              unindexed    a one-row commit checked against 100 results with CONTAINS and LIKE, against none
              windows      a row inserted before --rows others, with --windows windows of 20 rows, against none
              memory       bytes for each row of a result, each subscription to a shared one, each connection
              journal      commits of 1 and of 64 rows, against SQLite alone writing the same rows and the same log

            Examples:
              nestbench results
              nestbench results size memory --rows 100000 --json
            """
    )
    @OptionGroup var options: BenchOptions
    @Argument(help: "The parts to run; by default all.") var parts: [Part] = []
    @Option(help: "Rows of the large result.") var rows = 1_000_000
    @Option(help: "Subscriptions that the commit does not affect.") var subscriptions = 100_000
    @Option(help: "Windows over one result.") var windows = 10_000

    func validate() throws {
        guard self.options.server == nil else {
            throw ValidationError("results drives the engine in this process; remove --server")
        }
        guard (10_000...10_000_000).contains(self.rows) else {
            throw ValidationError("--rows must be 10000 to 10000000")
        }
        guard (1_000...1_000_000).contains(self.subscriptions) else {
            throw ValidationError("--subscriptions must be 1000 to 1000000")
        }
        guard (1...100_000).contains(self.windows) else { throw ValidationError("--windows must be 1 to 100000") }
    }

    func run() async throws {
        let report = Report(isJSON: self.options.json)
        for part in self.parts.isEmpty ? Part.allCases : self.parts {
            switch part {
            case .size:
                try ResultSize(report: report, rounds: self.options.rounds, rows: self.rows).run()
            case .unconcerned:
                try Unconcerned(report: report, rounds: self.options.rounds, count: self.subscriptions).run()
            case .unindexed:
                try Unindexed(report: report, rounds: self.options.rounds).run()
            case .windows:
                try WindowCost(report: report, rounds: self.options.rounds, rows: self.rows, count: self.windows).run()
            case .memory:
                try ResultMemory(report: report, rounds: self.options.rounds, rows: self.rows).run()
                try await ConnectionMemory(report: report, options: self.options).run()
            case .journal:
                try JournalCost(report: report, rounds: self.options.rounds, directory: self.options.directory).run()
            }
        }
    }
}
