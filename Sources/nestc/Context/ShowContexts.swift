import ArgumentParser
import NestDocuments

struct ListContexts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the contexts.",
        discussion: """
            Examples:
              nestc context list             '*' marks the current context
              nestc context list --json
            """
    )

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var output = Output()
        let file = try ContextFile.read()
        let all = file.contexts.sorted { $0.key < $1.key }
        if self.global.json {
            for (name, context) in all { try output.line(context.json(name, isCurrent: name == file.current)) }
        } else {
            for (name, context) in all {
                let mark = name == file.current ? "*" : " "
                let security = context.isTLS ? "tls" : "plain"
                let token = context.tokenFile == nil ? "no token" : "token"
                try output.line("\(mark) \(output.shown(name))\t\(output.shown(context.server))\t\(security)\t\(token)")
            }
        }
        try output.flush()
    }
}

struct ShowContext: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a context, or the effective settings.",
        discussion: """
            Examples:
              nestc context show             with flags and environment
              nestc context show work
            """
    )

    @Argument(help: "The name of the context.", completion: ModelCompletion.contexts)
    var name: String?

    @OptionGroup var global: GlobalOptions

    func run() throws {
        var output = Output()
        let file = try ContextFile.readIfAny()
        let context = try self.name.map { try file.context($0) } ?? self.global.connect.resolved()
        if self.global.json {
            try output.line(context.json(self.name ?? "", isCurrent: self.name == nil || self.name == file.current))
        } else {
            for (key, value) in context.settings { try output.line("\(output.dim(key))\t\(output.shown(value))") }
        }
        try output.flush()
    }
}

extension SavedContext {
    fileprivate var settings: [(String, String)] {
        let values: [(String, String?)] = [
            ("server", self.server), ("tokenFile", self.tokenFile), ("user", self.user),
            ("tls", self.isTLS ? "yes" : "no"),
            ("tlsCA", self.tlsCA), ("tlsServerName", self.tlsServerName), ("tlsCert", self.tlsCert),
            ("tlsKey", self.tlsKey),
        ]
        return values.compactMap { name, value in value.map { (name, $0) } }
    }

    func json(_ name: String, isCurrent: Bool) -> JSONWriter {
        .object { json in
            json.field("name", name)
            json.field("current", isCurrent)
            for (key, value) in self.settings where key != "tls" { json.field(key, value) }
            json.field("tls", self.isTLS)
        }
    }
}
