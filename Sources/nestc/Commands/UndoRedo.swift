import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct UndoLast: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Take back what this session did last.",
        discussion: """
            Examples:
              nestc undo
              nestc undo --json
              NEST_SESSION=… nestc undo       what another session of yours did

            Refused, with what stands in the way, when somebody has changed it since.
            """
    )

    @OptionGroup var writing: KeyOption
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let receipt = try await client.undo(key: try self.writing.identifier())
        try reportUndo("undid", receipt, self, &output)
    }
}

struct RedoLast: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "redo",
        abstract: "Do again what was undone last.",
        discussion: """
            Examples:
              nestc redo
            """
    )

    @OptionGroup var writing: KeyOption
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let receipt = try await client.redo(key: try self.writing.identifier())
        try reportUndo("redid", receipt, self, &output)
    }
}

private func reportUndo(
    _ verb: String,
    _ receipt: Receipt,
    _ command: some NestCommand,
    _ output: inout Output
) throws {
    if command.global.json {
        try output.line(receipt.json)
    } else {
        try output.line("\(verb): \(output.shown(receipt.name))")
    }
}
