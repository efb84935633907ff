import ArgumentParser
import NestClient
import NestModel

/// The options for the connection to a server and for authentication, of the client and of the server. Flags override
/// the environment, which overrides the current context.
struct ConnectOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The address of nestd (or NEST_SERVER).", valueName: "host:port"))
    var server: String?

    @Option(help: ArgumentHelp("A saved server (or NEST_CONTEXT): 'nestc help context'.", valueName: "name"))
    var context: String?

    @Option(help: ArgumentHelp("The file with the token (or NEST_TOKEN_FILE).", valueName: "file"))
    var tokenFile: String?

    @Flag(help: "Connect with TLS. More options: 'nestc help context'.")
    var tls = false

    @Option(
        help: ArgumentHelp(
            "The authorities that may sign the server's certificate, in PEM.",
            valueName: "file",
            visibility: .hidden
        )
    )
    var tlsCa: String?

    @Option(help: ArgumentHelp("The name in the server's certificate.", valueName: "name", visibility: .hidden))
    var tlsServerName: String?

    @Option(help: ArgumentHelp("This client's certificate, in PEM.", valueName: "file", visibility: .hidden))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The private key of --tls-cert, in PEM.", valueName: "file", visibility: .hidden))
    var tlsKey: String?

    @Flag(help: ArgumentHelp("Send a token even where others can read it.", visibility: .hidden))
    var insecure = false

    /// The options that take a value. They may precede the command's name.
    static let valueOptions = [
        "--server", "--context", "--token-file", "--tls-ca", "--tls-server-name", "--tls-cert", "--tls-key",
    ]
    static let flags = ["--tls", "--insecure"]

    static let defaultServer = "127.0.0.1:7000"

    /// Returns the effective settings: those of the flags, and otherwise those of the context.
    func resolved() throws -> SavedContext {
        var saved = try self.base()
        if let file = self.tokenFile ?? environment("NEST_TOKEN_FILE") { saved.tokenFile = file }
        if self.tls { saved.tls = true }
        saved.tlsCA = self.tlsCa ?? saved.tlsCA
        saved.tlsServerName = self.tlsServerName ?? saved.tlsServerName
        saved.tlsCert = self.tlsCert ?? saved.tlsCert
        saved.tlsKey = self.tlsKey ?? saved.tlsKey
        if self.tlsCa != nil || self.tlsServerName != nil || self.tlsCert != nil || self.tlsKey != nil {
            saved.tls = true
        }
        return saved
    }

    /// Returns the settings before the flags apply. A server that is specified by address gets no settings of a
    /// context: above all, a context's token must not be sent to another server.
    private func base() throws -> SavedContext {
        guard self.server == nil || self.context == nil else {
            throw CommandFailure(.usage, "use --server or --context, not both")
        }
        if let server = self.server { return SavedContext(server: server) }
        if let name = self.context ?? environment("NEST_CONTEXT") { return try ContextFile.read().context(name) }
        if let server = environment("NEST_SERVER") { return SavedContext(server: server) }
        let file = try ContextFile.readIfAny()
        return try file.current.map { try file.context($0) } ?? SavedContext(server: Self.defaultServer)
    }

    /// `host:port`, `host`, `:port`, or `[v6]:port`.
    static func address(_ text: String) throws -> (host: String, port: Int) {
        let failure = CommandFailure(.usage, "'\(text)' is not HOST:PORT; the default is \(Self.defaultServer)")
        var host = Substring(text)
        var port: Substring = "7000"
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { throw failure }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            if !rest.isEmpty {
                guard rest.hasPrefix(":") else { throw failure }
                port = rest.dropFirst()
            }
        } else if let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard let number = Int(port), (1...65_535).contains(number) else { throw failure }
        return (host.isEmpty ? "127.0.0.1" : String(host), number)
    }
}
