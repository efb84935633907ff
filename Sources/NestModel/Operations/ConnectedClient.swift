/// One connection of a server, as operators see it.
public struct ConnectedClient: Hashable, Sendable {
    /// Names the connection as long as the server runs; the log writes it with a c before it.
    public var number: UInt64
    /// Host and port.
    public var address: String
    /// How the client calls itself.
    public var name: String
    /// Of its session, as the history shows it.
    public var sessionNumber: UInt64
    /// Microseconds since 1970-01-01 UTC.
    public var connectedAt: Int64
    public var subscriptions: Int
    /// Since it connected, with those in flight.
    public var requests: Int
    public var requestsInFlight: Int
    public var bytesIn: Int
    /// Taken by the socket.
    public var bytesOut: Int
    /// Waiting because it does not take them.
    public var bytesQueued: Int

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
        bytesQueued: Int
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
    }
}
