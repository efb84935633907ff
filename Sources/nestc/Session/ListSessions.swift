import ArgumentParser
import NestDocuments

struct ListSessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List your sessions.",
        discussion: """
            Examples:
              nestc session list
              nestc session list --json

            For each server and token, shows the current session, and the sessions that 'adopt' and 'new' replaced. \
            'nestc session adopt - < FILE' restores one. nestc does not print the secrets in the files.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var output = Output()
        for file in try KeptSessionFile.all() {
            if self.global.json {
                try output.line(
                    .object { json in
                        json.field("server", file.server)
                        if let token = file.token { json.field("token", token) }
                        json.field("current", file.isCurrent)
                        json.field("file", file.path)
                        json.field("private", file.isPrivate)
                    }
                )
            } else {
                let state = (file.isCurrent ? "current" : "replaced") + (file.token.map { ", token \($0)" } ?? "")
                try output.line("\(file.server)\t\(state)\t\(output.shown(file.path))")
            }
            if !file.isPrivate { self.global.note("other users can read \(file.path): chmod 600 \(file.path)") }
        }
        try output.flush()
    }
}
