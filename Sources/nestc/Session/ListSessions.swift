import ArgumentParser
import NestDocuments

struct ListSessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the sessions that are kept for this user.",
        discussion: """
            Examples:
              nestc session list
              nestc session list --json

            For each server the session in use, and those that 'adopt' and 'new' have replaced: 'nestc session adopt - < FILE' \
            takes one back. Their secrets are in the files and are not printed.
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
                        json.field("current", file.isCurrent)
                        json.field("file", file.path)
                        json.field("private", file.isPrivate)
                    }
                )
            } else {
                try output.line(
                    "\(file.server)\t\(file.isCurrent ? "current" : "replaced")\t\(output.shown(file.path))"
                )
            }
            if !file.isPrivate, !self.global.quiet { tell("others can read \(file.path): chmod 600") }
        }
        try output.flush()
    }
}
