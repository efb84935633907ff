import NIOCore
import NestModel
import NestProtocol

/// The connection's slot in the connection limiter.
extension ClientConnection {
    /// Takes a slot. If none is free, evicts the oldest connection that has not logged in yet; if there is none,
    /// refuses the client. If only the client's address has used up its slots, evicts a connection from that address.
    func takeSlot(_ peer: SocketAddress?) {
        self.slot.opened(by: peer)
        var entry = self.slot.take(from: self.server.limiter)
        if entry != .served, self.loop.evictOldest(of: entry == .full ? nil : self.slot.address) {
            entry = self.slot.take(from: self.server.limiter)
        }
        guard entry != .served else { return }
        // A full leader must still let the nodes in whose clients write.
        if self.server.peers != nil, self.slot.wait(for: self.server.limiter) { return }
        self.finishWithoutSlot(isOfAddress: entry == .addressFull)
    }

    func finishWithoutSlot(isOfAddress: Bool = false) {
        let whose = isOfAddress ? " from your address" : ""
        self.finishBusy("the server has its maximum number of connections\(whose): try again later")
    }

    /// Whether a new connection may evict this one: its HELLO has not arrived or had a wrong token, or the connection
    /// is ending before WELCOME. `address`: only if the connection is from there.
    func isEvictable(of address: AddressKey? = nil) -> Bool {
        guard self.slot.isHeld, !self.session.wasWelcomed, address == nil || address == self.slot.address else {
            return false
        }
        return self.machine.phase != .greeting || self.session.refusal != nil
    }

    func evict() {
        self.slot.leave(self.server.limiter)
        self.cut(.evicted)
    }
}
