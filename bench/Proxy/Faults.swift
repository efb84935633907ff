/// A direction of a connection through the proxy.
public enum ProxyDirection: String, Sendable, CaseIterable {
    case toServer = "to-server"
    case toClient = "to-client"
}

/// The faults that the proxy applies to connections.
public struct Faults: Hashable, Sendable {
    /// The sizes of the pieces in which bytes are forwarded.
    public enum Segments: Hashable, Sendable {
        case asTheyCome
        /// Pieces of this many bytes.
        case of(Int)
        /// Pieces of random size, from 1 byte to 64 KiB.
        case random
    }

    public enum Break: String, Sendable, CaseIterable {
        /// Closes the connection to both sides normally.
        case cut
        /// Resets the connection to both sides (RST).
        case reset
        /// Forwards nothing, and loses nothing.
        case stall
        /// Discards all further bytes and the end of the connection. Neither the sender nor the receiver notices.
        case halfOpen = "half-open"
    }

    public struct Breaking: Hashable, Sendable {
        public var kind: Break
        /// The number of bytes that are forwarded before the break, counted from the start of these faults.
        public var afterBytes: Int

        public init(_ kind: Break, afterBytes: Int = 0) {
            self.kind = kind
            self.afterBytes = afterBytes
        }
    }

    /// The direction of the faults; `nil` for both.
    public var direction: ProxyDirection?
    public var delayMilliseconds = 0
    public var bytesPerSecond: Int?
    public var segments = Segments.asTheyCome
    public var breaking: Breaking?
    /// Whether new connections are reset.
    public var isRefusing = false

    public init(direction: ProxyDirection? = nil) {
        self.direction = direction
    }

    /// No faults.
    public static let none = Faults()

    func concern(_ direction: ProxyDirection) -> Bool { self.direction.map { $0 == direction } ?? true }
}
