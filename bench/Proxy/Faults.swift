/// One of the two ways of a connection through the proxy.
public enum ProxyDirection: String, Sendable, CaseIterable {
    case toServer = "to-server"
    case toClient = "to-client"
}

/// What the proxy does to connections.
public struct Faults: Hashable, Sendable {
    /// How bytes are cut for forwarding, whatever pieces they came in.
    public enum Segments: Hashable, Sendable {
        case asTheyCome
        /// Pieces of so many bytes.
        case of(Int)
        /// Pieces of random size, from one byte to whole frames joined.
        case random
    }

    public enum Break: String, Sendable, CaseIterable {
        /// Both sides see an orderly end.
        case cut
        /// Both sides see a RST.
        case reset
        /// Nothing goes on, nothing is lost.
        case stall
        /// What still comes is swallowed, its end too: the sender notices nothing, the receiver hears nothing.
        case halfOpen = "half-open"
    }

    public struct Breaking: Hashable, Sendable {
        public var kind: Break
        /// So many bytes are forwarded before, counted from the moment when these faults began.
        public var afterBytes: Int

        public init(_ kind: Break, afterBytes: Int = 0) {
            self.kind = kind
            self.afterBytes = afterBytes
        }
    }

    /// Which way they concern; `nil`: both.
    public var direction: ProxyDirection?
    public var delayMilliseconds = 0
    public var bytesPerSecond: Int?
    public var segments = Segments.asTheyCome
    public var breaking: Breaking?
    /// New connections are reset.
    public var isRefusing = false

    public init(direction: ProxyDirection? = nil) {
        self.direction = direction
    }

    /// Everything goes through as it comes.
    public static let none = Faults()

    func concern(_ direction: ProxyDirection) -> Bool { self.direction.map { $0 == direction } ?? true }
}
