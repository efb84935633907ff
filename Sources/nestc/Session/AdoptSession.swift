import ArgumentParser
import NestDocuments
import NestModel

struct AdoptSession: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Use another of your sessions with this server.",
        discussion: """
            Examples:
              ssh desk nestc session show --secret | nestc session adopt -
              nestc session adopt - < FILE    a file of 'nestc session list'

            Afterwards 'nestc undo' can undo the work of that session. The previous session is kept in a file beside \
            the new one. Prefer standard input: other users of this machine may see an argument in the list of \
            processes.
            """
    )

    @Argument(help: ArgumentHelp("The session's secret, 32 hex digits; '-' for standard input.", valueName: "hex"))
    var secret: String

    @OptionGroup var global: GlobalOptions

    func run() throws {
        let text = self.secret == "-" ? try standardInputLines().joined() : self.secret
        try changeSession(to: try GlobalOptions.session(text.filter { !$0.isWhitespace }), self.global)
    }
}

struct NewSession: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Start a new session with nothing to undo.",
        discussion: """
            Examples:
              nestc session new

            The previous session is kept in a file beside the new one. 'nestc session adopt' can restore it.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run() throws {
        try changeSession(to: SessionFile.newSession(), self.global)
    }
}

private func changeSession(to session: Identifier128, _ global: GlobalOptions) throws {
    let (servers, file) = try global.sessionFile()
    let isSame = try file.read() == session
    let old = try file.replace(with: session)
    var output = Output()
    if global.json {
        try output.line(
            .object { json in
                json.field("server", "\(servers)")
                json.field("changed", !isSame)
                json.field("file", file.path)
                json.key("replaced")
                if let old { json.string(old) } else { json.null() }
            }
        )
    } else if isSame {
        try output.line("\(servers): this session is already in use")
    } else {
        let kept = old.map { "; the previous session is kept in \($0)" } ?? ""
        try output.line("\(servers): uses another session now\(EscapedText.message(kept))")
    }
    try output.flush()
    if environment("NEST_SESSION") != nil {
        global.note("NEST_SESSION is set, and takes precedence over the session in the file")
    }
}
