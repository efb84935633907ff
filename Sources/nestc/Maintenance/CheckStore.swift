import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct CheckStore: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the server's whole store for damage.",
        discussion: """
            Examples:
              nestc check
              nestc check --json

            The server continues to serve during the check. It checks SQLite's pages and indexes, that every reference \
            leads to an object and back, that lists have one order, that no hierarchy has a cycle, and that the \
            journal is complete. nestc prints each problem on one line, and exits with 1 if there are any. The check \
            takes as long as reading the whole store. If nestd is stopped, use nestd --check.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let isShown = !self.global.quiet && !self.global.json && isatty(STDERR_FILENO) == 1
        let report = try await client.check { step in
            if isShown { printMessage("\(step.number) of \(step.count): \(step.name)") }
        }
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("revision", report.revision.rawValue)
                    json.field("objects", report.objectCount)
                    json.field("problemCount", report.problemCount)
                    json.key("problems")
                    json.array(report.problems) { $0.string($1) }
                }
            )
        } else {
            for problem in report.problems { try output.line(problem) }
        }
        try output.flush()
        guard report.problemCount == 0 else {
            throw CommandFailure(
                .refused,
                "the store has \(counted(report.problemCount, "problem")): "
                    + "keep a copy of its files as they are, then restore a backup"
            )
        }
        if !self.global.json {
            self.note("checked \(counted(report.objectCount, "object")) at revision \(report.revision): all is well")
        }
    }
}
