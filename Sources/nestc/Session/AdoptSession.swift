import ArgumentParser
import NestDocuments
import NestModel

struct AdoptSession: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Work as another session of yours with this server from now on.",
        discussion: """
            Examples:
              ssh desk nestc session show --secret | nestc session adopt -
              nestc session adopt - < FILE    one of 'nestc session list'

            As an argument others on this machine may see it in the list of processes. What that session did can be undone here then. The session before is kept in a file beside the new one.
            """
    )

    @Argument(help: ArgumentHelp("The session's secret, 32 hex digits; '-': standard input.", valueName: "hex"))
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
        abstract: "Begin a session with nothing to undo.",
        discussion: """
            Examples:
              nestc session new

            The session before is kept in a file beside the new one, and can be adopted again.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run() throws {
        try changeSession(to: SessionFile.newSession(), self.global)
    }
}

private func changeSession(to session: Identifier128, _ global: GlobalOptions) throws {
    let (host, port) = try global.address()
    let file = try SessionFile(host: host, port: port)
    let isSame = try file.read() == session
    let old = try file.replace(with: session)
    var output = Output()
    if global.json {
        try output.line(
            .object { json in
                json.field("server", "\(host):\(port)")
                json.field("changed", !isSame)
                json.field("file", file.path)
                json.key("replaced")
                if let old { json.string(old) } else { json.null() }
            }
        )
    } else if isSame {
        try output.line("\(host):\(port): this session is in use already")
    } else {
        let kept = old.map { "; the one before is kept in \($0)" } ?? ""
        try output.line("\(host):\(port): another session from now on\(output.shown(kept))")
    }
    try output.flush()
    if environment("NEST_SESSION") != nil, !global.quiet {
        tell("NEST_SESSION is set, and goes before the session that is kept")
    }
}
