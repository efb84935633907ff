import ArgumentParser
import NestClient
import NestDocuments
import NestModel

/// The options of every command. They may also precede the command's name.
///
/// Those for the connection are no group of their own: a debug build checks the options of a group within a group four
/// times as often, in every run.
struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address of nestd, or of several: a:7000,b:7000 (or NEST_SERVER).",
            valueName: "host:port"
        )
    )
    var server: String?

    @Option(
        help: ArgumentHelp("A saved server (or NEST_CONTEXT): 'nestc help context'.", valueName: "name"),
        completion: ModelCompletion.contexts
    )
    var context: String?

    @Option(
        help: ArgumentHelp("The file with the token (or NEST_TOKEN_FILE).", valueName: "file"),
        completion: .file()
    )
    var tokenFile: String?

    @Option(help: ArgumentHelp("Who you are, for a server without tokens (or NEST_USER).", valueName: "name"))
    var user: String?

    @Flag(help: "Connect with TLS. More options: 'nestc help context'.")
    var tls = false

    @Option(
        help: ArgumentHelp(
            "The authorities that may sign the server's certificate, in PEM.",
            valueName: "file",
            visibility: .hidden
        ),
        completion: .file()
    )
    var tlsCa: String?

    @Option(help: ArgumentHelp("The name in the server's certificate.", valueName: "name", visibility: .hidden))
    var tlsServerName: String?

    @Option(
        help: ArgumentHelp("This client's certificate, in PEM.", valueName: "file", visibility: .hidden),
        completion: .file()
    )
    var tlsCert: String?

    @Option(
        help: ArgumentHelp("The private key of --tls-cert, in PEM.", valueName: "file", visibility: .hidden),
        completion: .file()
    )
    var tlsKey: String?

    @Flag(help: ArgumentHelp("Send a token even where others can read it.", visibility: .hidden))
    var insecure = false

    @Option(
        help: ArgumentHelp(
            "The session to use (or NEST_SESSION), 32 hex digits. (default: one per user, server and token)",
            valueName: "hex"
        )
    )
    var session: String?

    @Option(help: ArgumentHelp("The time to wait for an answer.", valueName: "seconds"))
    var timeout: Double = 30

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Flag(name: [.short, .long], help: "Print only errors on standard error.")
    var quiet = false

    var connect: ConnectOptions {
        ConnectOptions(
            server: self.server,
            context: self.context,
            tokenFile: self.tokenFile,
            user: self.user,
            tls: self.tls,
            tlsCa: self.tlsCa,
            tlsServerName: self.tlsServerName,
            tlsCert: self.tlsCert,
            tlsKey: self.tlsKey,
            insecure: self.insecure
        )
    }

    /// Prints a message on standard error, unless `--quiet` is given: with `--json`, as a line `{"note":"…"}`.
    func note(_ text: String) {
        guard !self.quiet else { return }
        guard self.json else { return printMessage(text) }
        try? writeAll(JSONWriter.object { $0.field("note", text) }.bytes + [UInt8(ascii: "\n")], to: STDERR_FILENO)
    }

    /// Prints the result of a command that prints nothing without `--json`.
    func printJSON(_ json: JSONWriter) throws {
        guard self.json else { return }
        var output = Output()
        try output.line(json)
        try output.flush()
    }

    /// `saved` replaces the server that the options specify.
    func configuration(_ saved: SavedContext? = nil) throws -> ClientConfiguration {
        let saved = try saved ?? self.connect.resolved()
        let servers = try ConnectOptions.addresses(saved.server, from: "the server")
        guard self.timeout > 0, self.timeout <= 86_400 else {
            throw CommandFailure(.usage, "--timeout must be a number of seconds above 0, at most 86400")
        }
        let token = try self.connect.token(saved)
        let timeout = Duration.seconds(self.timeout)
        var configuration = ClientConfiguration(
            servers,
            clientName: "nestc",
            session: .secret(try self.session(servers, token)),
            token: token
        )
        configuration.connectTimeout = min(timeout, .seconds(5))
        configuration.requestTimeout = timeout
        configuration.user = saved.user ?? ""
        configuration.tls = try saved.clientTLS()
        configuration.sendsTokenInClear = self.connect.insecure
        return configuration
    }

    private func session(_ servers: ServerAddresses, _ token: AccessToken?) throws -> Identifier128 {
        if let text = self.session { return try Self.session(text) }
        if let text = environment("NEST_SESSION") { return try naming("NEST_SESSION") { try Self.session(text) } }
        return try SessionFile(servers, token).session()
    }

    /// The servers, and the file with the session for them and for the token.
    func sessionFile() throws -> (servers: ServerAddresses, file: SessionFile) {
        let saved = try self.connect.resolved()
        let servers = try ConnectOptions.addresses(saved.server, from: "the server")
        return (servers, try SessionFile(servers, try self.connect.token(saved)))
    }

    static func session(_ text: String) throws -> Identifier128 {
        guard let identifier = Identifier128(hex: text) else {
            throw CommandFailure(.usage, "a session must be 32 hexadecimal digits")
        }
        return identifier
    }
}
