import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct ShowUndoState: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo-state",
        abstract: "Show the entries that undo and redo would use next.",
        discussion: """
            Examples:
              nestc undo-state
              nestc undo-state --json
              nestc undo-state --follow --json    print each new state

            --follow continues across lost connections and server restarts; Ctrl-C ends it. The revision identifies \
            the entry: 'nestc undo --expect REVISION' undoes this entry or nothing.
            """
    )

    @Flag(help: "Continue, and print each newer state.")
    var follow = false

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        guard self.follow else {
            let state = try await client.undoState()
            if self.global.json {
                try output.line(state.json)
            } else {
                for line in state.lines(output) { try output.line(line) }
            }
            return
        }
        try await OutputReader.closingWhenGone(client) {
            var isFirst = true
            for try await state in client.undoStates() {
                if self.global.json {
                    try output.line(state.json)
                } else {
                    if !isFirst { try output.line("") }
                    for line in state.lines(output) { try output.line(line) }
                }
                isFirst = false
                try output.flush()
            }
            // The sequence ends without an error only in a cancelled task.
            try Task.checkCancellation()
        }
    }
}

extension UndoState {
    func lines(_ output: Output) -> [String] {
        var lines = [
            "undo: \(Self.text(self.undo, self.undoCount, output))",
            "redo: \(Self.text(self.redo, self.redoCount, output))",
        ]
        let passed = [(self.blockedCount, "blocked"), (self.droppedCount, "dropped")].filter { $0.0 > 0 }
        if !passed.isEmpty {
            lines.append(
                output.dim("also: " + passed.map { "\(ShownText.number($0.0)) \($0.1)" }.joined(separator: ", "))
            )
        }
        return lines
    }

    private static func text(_ entry: Entry?, _ count: Int, _ output: Output) -> String {
        guard let entry else { return "nothing" }
        let several = entry.transactionCount > 1 ? "\(counted(entry.transactionCount, "transaction")), " : ""
        let position = count > 1 ? ", the newest of \(ShownText.number(count))" : ""
        return output.shown(entry.name) + output.dim("  (\(several)revision \(entry.revision)\(position))")
    }

    var json: JSONWriter { .object { self.writeFields(into: &$0) } }

    func writeFields(into json: inout JSONWriter) {
        for (name, entry) in [("undo", self.undo), ("redo", self.redo)] {
            json.key(name)
            guard let entry else {
                json.null()
                continue
            }
            json.object { json in
                json.field("revision", entry.revision)
                json.field("transactions", entry.transactionCount)
                json.field("name", entry.name)
            }
        }
        json.field("undoCount", self.undoCount)
        json.field("redoCount", self.redoCount)
        json.field("blocked", self.blockedCount)
        json.field("dropped", self.droppedCount)
    }
}
