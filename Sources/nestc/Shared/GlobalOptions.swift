import ArgumentParser
import NestClient
import NestModel

/// What every command understands. May also stand before the command's name.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where nestd is (or NEST_SERVER).", valueName: "host:port"))
    var server: String?

    @Option(
        help: ArgumentHelp(
            "The session to work as (or NEST_SESSION): 32 hex digits. Default: one per user and server.",
            valueName: "hex"
        )
    )
    var session: String?

    @Option(help: ArgumentHelp("How long to wait for an answer.", valueName: "seconds"))
    var timeout: Double = 30

    @Flag(help: "One JSON object per line.")
    var json = false

    @Flag(name: [.short, .long], help: "Say nothing on standard error but errors.")
    var quiet = false

    static let defaultServer = "127.0.0.1:7000"

    func configuration() throws -> ClientConfiguration {
        let (host, port) = try self.address()
        guard self.timeout > 0, self.timeout <= 86_400 else {
            throw CommandFailure(.usage, "--timeout is a number of seconds above 0, at most a day")
        }
        let session: Identifier128
        if let text = self.session ?? environment("NEST_SESSION") {
            session = try Self.session(text)
        } else {
            session = try SessionFile(host: host, port: port).session()
        }
        let timeout = Duration.seconds(self.timeout)
        return ClientConfiguration(
            host: host,
            port: port,
            clientName: "nestc",
            session: session,
            connectTimeout: min(timeout, .seconds(5)),
            requestTimeout: timeout
        )
    }

    /// Where the server is: as it was said, or the environment has it.
    func address() throws -> (host: String, port: Int) {
        try Self.address(self.server ?? environment("NEST_SERVER") ?? Self.defaultServer)
    }

    static func session(_ text: String) throws -> Identifier128 {
        guard let identifier = Identifier128(hex: text) else {
            throw CommandFailure(.usage, "a session is 32 hexadecimal digits")
        }
        return identifier
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
