/// The protocol of one connection of the load client. It creates the bytes for a peer, and decodes only as much of the
/// replies as it needs to count them.
///
/// All peers use the same load client, so only their protocols differ.
public protocol PeerWire: AnyObject {
    /// The bytes to send after connecting.
    var opening: [UInt8] { get }

    /// Counts the contents of one read, which may end anywhere. Appends bytes to send at once to `reply`.
    func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received
}

/// A connection that sends requests and receives replies.
public protocol RequestWire: PeerWire {
    /// Appends the next request.
    func appendRequest(to output: inout [UInt8])
}

/// The counts of one read.
public struct Received: Equatable, Sendable {
    /// The changes that reached this subscriber. For a reader, the rows.
    public var deliveries = 0
    /// The requests that were answered.
    public var answers = 0
    /// Whether the connection is set up. A subscriber then has its first state.
    public var isReady = false

    public init() {}
}

/// A peer refused a request, did not answer it, or sent an invalid reply.
public struct PeerRefusal: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
