/// One connection of a server, for operators.
public struct ConnectedClient: Hashable, Sendable {
    /// The number of the connection, unique while the server runs. The log writes it as `c` and the number.
    public var number: UInt64
    /// Host and port.
    public var address: String
    /// The client's name, set by the client.
    public var name: String
    /// The public number of its session, as the history shows it; 0: not known when it connected.
    public var sessionNumber: UInt64
    /// Microseconds since 1970-01-01 UTC.
    public var connectedAt: Int64
    public var subscriptions: Int
    /// The number of requests since it connected, those in flight included.
    public var requests: Int
    public var requestsInFlight: Int
    public var bytesIn: Int
    /// The bytes that the socket accepted.
    public var bytesOut: Int
    /// The bytes that wait for the client to receive more.
    public var bytesQueued: Int
    /// The label of its token, or what the client says; `nil`: none.
    public var user: UserLabel?

    public init(
        number: UInt64,
        address: String,
        name: String,
        sessionNumber: UInt64,
        connectedAt: Int64,
        subscriptions: Int,
        requests: Int,
        requestsInFlight: Int,
        bytesIn: Int,
        bytesOut: Int,
        bytesQueued: Int,
        user: UserLabel? = nil
    ) {
        self.number = number
        self.address = address
        self.name = name
        self.sessionNumber = sessionNumber
        self.connectedAt = connectedAt
        self.subscriptions = subscriptions
        self.requests = requests
        self.requestsInFlight = requestsInFlight
        self.bytesIn = bytesIn
        self.bytesOut = bytesOut
        self.bytesQueued = bytesQueued
        self.user = user
    }
}
