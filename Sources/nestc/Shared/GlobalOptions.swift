import ArgumentParser
import NestClient
import NestModel

/// The options of every command. They may also precede the command's name.
struct GlobalOptions: ParsableArguments {
    @OptionGroup var connect: ConnectOptions

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

    /// `saved` replaces the server that the options specify.
    func configuration(_ saved: SavedContext? = nil) throws -> ClientConfiguration {
        let saved = try saved ?? self.connect.resolved()
        let address = try ConnectOptions.address(saved.server, from: "the server")
        guard self.timeout > 0, self.timeout <= 86_400 else {
            throw CommandFailure(.usage, "--timeout must be a number of seconds above 0, at most 86400")
        }
        let token = try self.connect.token(saved)
        let timeout = Duration.seconds(self.timeout)
        var configuration = ClientConfiguration(
            host: address.host,
            port: address.port,
            clientName: "nestc",
            session: try self.session(address, token),
            token: token,
            connectTimeout: min(timeout, .seconds(5)),
            requestTimeout: timeout
        )
        configuration.tls = try saved.clientTLS()
        configuration.sendsTokenInClear = self.connect.insecure
        return configuration
    }

    private func session(_ address: ServerAddress, _ token: AccessToken?) throws -> Identifier128 {
        if let text = self.session { return try Self.session(text) }
        if let text = environment("NEST_SESSION") { return try naming("NEST_SESSION") { try Self.session(text) } }
        return try SessionFile(address, token).session()
    }

    /// The address of the server, and the file with the session for it and for the token.
    func sessionFile() throws -> (address: ServerAddress, file: SessionFile) {
        let saved = try self.connect.resolved()
        let address = try ConnectOptions.address(saved.server, from: "the server")
        return (address, try SessionFile(address, try self.connect.token(saved)))
    }

    static func session(_ text: String) throws -> Identifier128 {
        guard let identifier = Identifier128(hex: text) else {
            throw CommandFailure(.usage, "a session must be 32 hexadecimal digits")
        }
        return identifier
    }
}
