import NestModel
import NestProtocol

/// How a client connects.
public struct ClientConfiguration: Sendable {
    public var host: String
    public var port: Int
    /// What the server's log calls this client; at most 256 bytes.
    public var clientName: String
    /// 128 secret bits that own undo stacks and idempotency keys. Keep it, and the next run can undo this one's work;
    /// do not show it, for who has it can do the same.
    public var session: Identifier128
    /// `nil`: nothing is encrypted.
    public var tls: ClientTLS?
    /// Who this client is, for a server that wants to know. It is sent over TLS, or to this machine itself, and nowhere else
    /// unless `sendsTokenInClear`.
    public var token: AccessToken?
    /// Sends the token also where others on the way can read it.
    public var sendsTokenInClear = false
    /// For one attempt to connect, until the server has answered the handshake.
    public var connectTimeout: Duration
    /// For one request from the call to its answer, reconnecting and sending again included.
    public var requestTimeout: Duration
    /// The longest pause between attempts to make a lost connection again; pauses double until they are so long.
    public var reconnectPauseMax = Duration.milliseconds(Limits.reconnectMillisecondsMax)
    /// Large answers and sub-trees may travel compressed, both ways: fewer bytes for a little more work of both sides.
    public var usesCompression = true

    public init(
        host: String = "127.0.0.1",
        port: Int = 7000,
        clientName: String = "nest client",
        session: Identifier128? = nil,
        token: AccessToken? = nil,
        connectTimeout: Duration = .seconds(5),
        requestTimeout: Duration = .seconds(30)
    ) {
        var random = SystemRandomNumberGenerator()
        self.host = host
        self.port = port
        self.clientName = clientName
        self.session = session ?? Identifier128.random(using: &random)
        self.token = token
        self.connectTimeout = connectTimeout
        self.requestTimeout = requestTimeout
    }

    /// Whether what is sent to an address, written the system's way, can be read on this machine alone.
    package static func staysOnThisMachine(_ address: String) -> Bool {
        address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
    }
}
