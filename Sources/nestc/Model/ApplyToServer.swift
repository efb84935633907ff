import ArgumentParser
import NestClient
import NestDocuments
import NestModel

/// `nestc model apply FILE`: another model for a running server.
struct ApplyToServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Give the running server another model, while its clients go on.",
        discussion: """
            Examples:
              nestc model apply shop.json --dry-run      what would change
              nestc model apply shop.json

            The server makes changes that add something or change what may be stored: attributes that are optional or \
            have a default, optional relationships, entities, indexes. If it cannot make one of the changes, it makes \
            none; stop nestd then, and use 'nestd migrate'. Needs the role admin. Start nestd with the new model from \
            then on; with the one before it, nestd keeps the newer model and warns.

            Exit code: 0 if the server has the model now (with --dry-run: it could), 1 if it cannot make a change.
            """
    )

    @Argument(
        help: ArgumentHelp("The model's file; '-' for standard input.", valueName: "file"),
        completion: .file()
    )
    var file: ModelArgument

    @Flag(name: [.customShort("n"), .long], help: "Show what would change, and change nothing.")
    var dryRun = false

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let model = try self.file.model(self.global).model
        let applied = try await NestClient.withClient(try self.global.configuration()) { client in
            try await client.apply(model, dryRun: self.dryRun)
        }
        var output = Output()
        if self.global.json {
            try output.line(Self.json(applied))
        } else {
            for line in Self.lines(applied) { try output.line(EscapedText.message(line)) }
        }
        try output.flush()
        guard applied.outcome != .refused else {
            throw CommandFailure(
                .refused,
                "the running server cannot make these changes: stop nestd, and use 'nestd migrate'"
            )
        }
    }

    private static func lines(_ applied: AppliedModel) -> [String] {
        let changes = applied.changes.map { change in
            change.isLive ? "live     \(change.text)" : "refused  \(change.text): \(change.obstacle)"
        }
        let rows = counted(applied.rowCount, "row")
        switch applied.outcome {
        case .unchanged: return ["the server has this model already"]
        case .applied: return changes + ["the server has this model now: \(rows) written or indexed"]
        case .possible: return changes + ["the server could have this model: \(rows) to write or index"]
        case .refused: return changes
        }
    }

    private static func json(_ applied: AppliedModel) -> JSONWriter {
        .object { json in
            json.field("outcome", "\(applied.outcome)")
            json.field("rows", applied.rowCount)
            json.key("changes")
            json.array(applied.changes) { json, change in
                json.object { json in
                    json.field("what", change.text)
                    json.field("live", change.isLive)
                    if !change.isLive { json.field("obstacle", change.obstacle) }
                }
            }
        }
    }
}
