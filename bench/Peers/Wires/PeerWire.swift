/// What one connection of the load client sends to a peer, and how much of what comes back it understands: enough to count.
///
/// All peers have the same client around this, so what differs between them is their protocol and nothing else.
public protocol PeerWire: AnyObject {
    /// What is sent as soon as the connection is there.
    var opening: [UInt8] { get }

    /// Counts what a read brought, cut anywhere. What has to be answered at once is appended to `reply`.
    func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received
}

/// A connection that asks and is answered.
public protocol RequestWire: PeerWire {
    /// Appends the next request.
    func appendRequest(to output: inout [UInt8])
}

/// What a read brought.
public struct Received: Equatable, Sendable {
    /// Changes that reached this subscriber; of a reader, rows.
    public var deliveries = 0
    /// Requests that were answered.
    public var answers = 0
    /// The connection is set up: a subscriber is subscribed and has the first state.
    public var isReady = false

    public init() {}
}

/// A peer said no, or something that cannot be understood.
public struct PeerRefusal: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
