import ArgumentParser
import NestClient
import NestModel

/// How a server is reached and what proves who is there, on both sides. Flags stand over the environment, and that over the
/// context in use.
struct ConnectOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where nestd is (or NEST_SERVER).", valueName: "host:port"))
    var server: String?

    @Option(help: ArgumentHelp("A server by name (or NEST_CONTEXT): see 'nestc help context'.", valueName: "name"))
    var context: String?

    @Option(help: ArgumentHelp("The file with the token (or NEST_TOKEN_FILE).", valueName: "file"))
    var tokenFile: String?

    @Flag(help: "Connect by TLS: see 'nestc help context' for --tls-ca and others.")
    var tls = false

    @Option(help: ArgumentHelp("Who may vouch for the server, in PEM.", valueName: "file", visibility: .hidden))
    var tlsCa: String?

    @Option(help: ArgumentHelp("The name in the server's certificate.", valueName: "name", visibility: .hidden))
    var tlsServerName: String?

    @Option(help: ArgumentHelp("This client's certificate, in PEM.", valueName: "file", visibility: .hidden))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The key of --tls-cert.", valueName: "file", visibility: .hidden))
    var tlsKey: String?

    @Flag(help: ArgumentHelp("Send a token also where others can read it.", visibility: .hidden))
    var insecure = false

    /// Those that take a value, as they may stand before the command's name.
    static let valueOptions = [
        "--server", "--context", "--token-file", "--tls-ca", "--tls-server-name", "--tls-cert", "--tls-key",
    ]
    static let flags = ["--tls", "--insecure"]

    static let defaultServer = "127.0.0.1:7000"

    /// Everything together: what the flags say over what the context says.
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

    /// A server that is named stands alone: what a context says of another, its token above all, is not for it.
    private func base() throws -> SavedContext {
        guard self.server == nil || self.context == nil else {
            throw CommandFailure(.usage, "--server and --context exclude each other")
        }
        if let server = self.server { return SavedContext(server: server) }
        if let name = self.context ?? environment("NEST_CONTEXT") { return try ContextFile.read().context(name) }
        if let server = environment("NEST_SERVER") { return SavedContext(server: server) }
        let file = try ContextFile.readIfAny()
        return try file.current.map { try file.context($0) } ?? SavedContext(server: Self.defaultServer)
    }

    /// `host:port`, `host`, `:port`, or `[v6]:port`.
    static func address(_ text: String) throws -> (host: String, port: Int) {
        let failure = CommandFailure(.usage, "'\(text)' is no HOST:PORT; the default is \(Self.defaultServer)")
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
