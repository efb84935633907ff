import NIOCore
import NestModel
import NestProtocol

/// The connection's slot among those that the server serves.
extension ClientConnection {
    /// Takes a slot, evicts the oldest connection that is no client yet when there is none, or refuses the client. An
    /// address that has used up its slots evicts one of its own.
    func takeSlot(_ peer: SocketAddress?) {
        self.slot.opened(by: peer)
        var entry = self.slot.take(from: self.server.limiter)
        if entry != .served, let oldest = self.loop.takeOldestEvictable(of: entry == .full ? nil : self.slot.address) {
            oldest.evict()
            entry = self.slot.take(from: self.server.limiter)
        }
        switch entry {
        case .served: break
        case .full: self.finishBusy("the server has as many connections as it may: try again later")
        case .addressFull:
            self.finishBusy("the server has as many connections from your address as it may: try again later")
        }
    }

    /// Whether a new connection may evict this one: HELLO has not come, or came with a wrong token, or the connection
    /// ends without having been a client. `address`: only if it is from there.
    func isEvictable(of address: AddressKey? = nil) -> Bool {
        guard self.slot.isHeld, !self.session.wasWelcomed, address == nil || address == self.slot.address else {
            return false
        }
        return self.machine.phase != .greeting || self.session.refusal != nil
    }

    private func evict() {
        self.slot.leave(self.server.limiter)
        self.cut(.evicted)
    }
}
