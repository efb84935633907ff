import ArgumentParser

/// Measures the cost of live outlines for a commit.
struct OutlineCommand: AsyncParsableCommand {
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case rows
        case depth
        case many
    }

    static let configuration = CommandConfiguration(
        commandName: "outline",
        abstract: "Measure the cost of a commit that a live outline follows: by its rows, its depth, and for many.",
        discussion: """
            Drives the engine in this process, without sockets. Stores are in memory, and times are processor times of
            the thread, so that a commit does not wait for a disk or for other programs.

              rows   a row inserted, moved and deleted in a window of outlines with more and more shown rows
              depth  the same at the end of chains that become deeper and deeper
              many   commits at the head of a tree that --outlines different outlines follow, against none

            Each size is compared with the smallest, in turn: a ratio over 1.3 is too much.

            Examples:
              nestbench outline
              nestbench outline depth --sizes 1000 100000
            """
    )
    @OptionGroup var options: BenchOptions
    @Argument(help: "The parts to run; by default all.") var parts: [Part] = []
    @Option(parsing: .upToNextOption, help: "Shown rows, and levels of the chains.")
    var sizes = [1_000, 10_000, 100_000, 1_000_000]
    @Option(help: "Outlines over one tree.") var outlines = 1_000
    @Option(help: "Rows of that tree.") var rows = 1_500

    func validate() throws {
        guard self.options.server == nil else {
            throw ValidationError("outline drives the engine in this process; remove --server")
        }
        guard self.sizes.allSatisfy({ (1_000...1_000_000).contains($0) }) else {
            throw ValidationError("--sizes must be 1000 to 1000000: an outline has at most 1,048,576 rows")
        }
        guard (1...10_000).contains(self.outlines) else { throw ValidationError("--outlines must be 1 to 10000") }
        guard (1_000...1_000_000).contains(self.rows) else {
            throw ValidationError("--rows must be 1000 to 1000000")
        }
    }

    func run() async throws {
        let report = Report(isJSON: self.options.json)
        for part in self.parts.isEmpty ? Part.allCases : self.parts {
            switch part {
            case .rows:
                try OutlineSize(report: report, rounds: self.options.rounds, sizes: self.sizes, shape: .list).run()
            case .depth:
                try OutlineSize(report: report, rounds: self.options.rounds, sizes: self.sizes, shape: .chain).run()
            case .many:
                try ManyOutlines(
                    report: report,
                    rounds: self.options.rounds,
                    rows: self.rows,
                    count: self.outlines
                ).run()
            }
        }
    }
}
