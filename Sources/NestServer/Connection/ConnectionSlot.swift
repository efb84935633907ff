import NIOCore

/// The slot of the connection limiter that a connection holds, and the address that it counts for.
package struct ConnectionSlot: Sendable {
    package private(set) var address: AddressKey?
    /// For the log.
    package private(set) var addressText = ""
    /// Whether the connection holds a slot.
    package private(set) var isHeld = false
    /// Whether the connection has none, and waits for HELLO because it may be another node's.
    package private(set) var isWaiting = false

    package init() {}

    /// Records the peer of a connection that has opened.
    package mutating func opened(by peer: SocketAddress?) {
        self.address = AddressKey(peer)
        self.addressText = LogText.address(peer)
    }

    package mutating func take(from limiter: ConnectionLimiter) -> ConnectionLimiter.Entry {
        let entry = limiter.enter(self.address)
        self.isHeld = entry == .served
        return entry
    }

    /// Waits for HELLO without a slot. Returns whether the limiter allows it.
    package mutating func wait(for limiter: ConnectionLimiter) -> Bool {
        self.isWaiting = limiter.mayWait()
        return self.isWaiting
    }

    /// Releases the slot. Later calls do nothing.
    package mutating func leave(_ limiter: ConnectionLimiter) {
        if self.isWaiting {
            self.isWaiting = false
            limiter.stopWaiting()
        }
        guard self.isHeld else { return }
        self.isHeld = false
        limiter.leave(self.address)
    }
}
