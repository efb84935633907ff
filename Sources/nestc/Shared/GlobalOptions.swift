import ArgumentParser
import NestClient
import NestModel

/// The options of every command. They may also precede the command's name.
struct GlobalOptions: ParsableArguments {
    @OptionGroup var connect: ConnectOptions

    @Option(
        help: ArgumentHelp(
            "The session to use (or NEST_SESSION), 32 hex digits. (default: one per user and server)",
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

    /// `saved` replaces the server that the options specify.
    func configuration(_ saved: SavedContext? = nil) throws -> ClientConfiguration {
        let saved = try saved ?? self.connect.resolved()
        let (host, port) = try ConnectOptions.address(saved.server)
        guard self.timeout > 0, self.timeout <= 86_400 else {
            throw CommandFailure(.usage, "--timeout must be a number of seconds above 0, at most 86400")
        }
        let session: Identifier128
        if let text = self.session ?? environment("NEST_SESSION") {
            session = try Self.session(text)
        } else {
            session = try SessionFile(host: host, port: port).session()
        }
        let timeout = Duration.seconds(self.timeout)
        var configuration = ClientConfiguration(
            host: host,
            port: port,
            clientName: "nestc",
            session: session,
            token: try saved.tokenFile.map(TokenFile.read),
            connectTimeout: min(timeout, .seconds(5)),
            requestTimeout: timeout
        )
        configuration.tls = try saved.clientTLS()
        configuration.sendsTokenInClear = self.connect.insecure
        return configuration
    }

    /// The address of the server.
    func address() throws -> (host: String, port: Int) {
        try ConnectOptions.address(try self.connect.resolved().server)
    }

    static func session(_ text: String) throws -> Identifier128 {
        guard let identifier = Identifier128(hex: text) else {
            throw CommandFailure(.usage, "a session must be 32 hexadecimal digits")
        }
        return identifier
    }
}
