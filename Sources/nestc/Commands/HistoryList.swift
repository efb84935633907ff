import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct HistoryList: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List what was done, newest first.",
        discussion: """
            Examples:
              nestc history                 what this session did
              nestc history --all           what everybody did; sessions by their public numbers
              nestc history --limit 5 --json

            '<- undo' marks what the next undo takes back, '<- redo' what the next redo does again.
            """
    )

    @Flag(help: "Of all sessions, not only this one.")
    var all = false

    @Option(help: ArgumentHelp("At most so many.", valueName: "n"))
    var limit = 20

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.limit < 1 { throw ValidationError("--limit is 1 or more") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var left = self.limit
        var before: Revision?
        while left > 0 {
            let page = min(left, Limits.historyPageMax)
            let entries = try await client.history(before: before, limit: page, onlyMine: !self.all)
            for entry in entries { try self.print(entry, &output) }
            guard entries.count == page, let last = entries.last else { return }
            left -= entries.count
            before = last.revision
        }
    }

    private func print(_ entry: HistoryEntry, _ output: inout Output) throws {
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("revision", entry.revision)
                    json.field("time", DateText.text(microseconds: entry.time))
                    json.field("session", entry.sessionNumber)
                    json.field("mine", entry.isMine)
                    json.field("kind", "\(entry.kind)")
                    json.key("reverted")
                    if let reverted = entry.reverted { json.integer(reverted.rawValue) } else { json.null() }
                    json.field("name", entry.name)
                    json.field("nextUndo", entry.isNextUndo)
                    json.field("nextRedo", entry.isNextRedo)
                }
            )
            return
        }
        let kind = entry.kind == .write ? "" : "\(entry.kind) of \(entry.reverted ?? Revision(0)): "
        let mark = entry.isNextUndo ? "  <- undo" : entry.isNextRedo ? "  <- redo" : ""
        let whose = entry.isMine ? "mine" : "s\(entry.sessionNumber)"
        // To the second for people; whole for programs.
        let time = DateText.text(microseconds: entry.time)
        let shownTime = output.isTerminal ? "\(time.prefix(10)) \(time.dropFirst(11).prefix(8))" : time
        let head = output.dim("\(entry.revision)\t\(shownTime)\t\(whose)\t")
        try output.line("\(head)\(kind)\(output.shown(singleLine(entry.name)))\(output.bold(mark))")
    }
}
