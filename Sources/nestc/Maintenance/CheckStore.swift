import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct CheckStore: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Have the server look at all of its store, while it goes on.",
        discussion: """
            Examples:
              nestc check
              nestc check --json

            It checks SQLite's pages and indexes, that every reference leads to an object and \
            back, that lists have one order, that nothing runs in circles, and that the journal \
            is whole. What is wrong is printed, one thing a line; then the exit status is 1. \
            It takes as long as reading the whole store. With nestd stopped: nestd --check.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let isShown = !self.global.quiet && isatty(STDERR_FILENO) == 1
        let report = try await client.check { step in
            if isShown { tell("\(step.number) of \(step.count): \(step.name)") }
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
                "\(report.problemCount) things are wrong with the store: keep a copy of its files as they are, then restore a backup"
            )
        }
        if !self.global.json {
            self.note("checked \(report.objectCount) objects at revision \(report.revision): all is well")
        }
    }
}
