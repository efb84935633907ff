import NIOCore

/// The slot of the connection limiter that a connection holds, and the address that it counts for.
package struct ConnectionSlot: Sendable {
    package private(set) var address: AddressKey?
    /// For the log.
    package private(set) var addressText = ""
    /// The connection is one of those that are served.
    package private(set) var isHeld = false

    package init() {}

    /// The connection is open, to this peer.
    package mutating func opened(by peer: SocketAddress?) {
        self.address = AddressKey(peer)
        self.addressText = LogText.address(peer)
    }

    package mutating func take(from limiter: ConnectionLimiter) -> ConnectionLimiter.Entry {
        let entry = limiter.enter(self.address)
        self.isHeld = entry == .served
        return entry
    }

    /// Gives the slot back, once.
    package mutating func leave(_ limiter: ConnectionLimiter) {
        guard self.isHeld else { return }
        self.isHeld = false
        limiter.leave(self.address)
    }
}
