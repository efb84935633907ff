import NestModel

/// How a client connects.
public struct ClientConfiguration: Sendable {
    public var host: String
    public var port: Int
    /// What the server's log calls this client; at most 256 bytes.
    public var clientName: String
    /// 128 secret bits that own undo stacks and idempotency keys. Keep it, and the next run can undo this one's work;
    /// do not show it, for who has it can do the same.
    public var session: Identifier128
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
        connectTimeout: Duration = .seconds(5),
        requestTimeout: Duration = .seconds(30)
    ) {
        var random = SystemRandomNumberGenerator()
        self.host = host
        self.port = port
        self.clientName = clientName
        self.session = session ?? Identifier128.random(using: &random)
        self.connectTimeout = connectTimeout
        self.requestTimeout = requestTimeout
    }
}
