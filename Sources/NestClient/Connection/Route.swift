import NestModel

/// The addresses that a client connects to: the one that its user gave, and that of the leader that a node named last.
package struct Route: Equatable, Sendable {
    package let home: ServerAddress
    /// `nil` until a node has named a leader.
    package private(set) var leader: ServerAddress?
    /// Where the client is connected, or connects next.
    package private(set) var current: ServerAddress
    /// Whether the attempt after a pause has failed, and the other address is next.
    private var hasTriedOne = false

    package init(home: ServerAddress) {
        self.home = ServerAddress(host: home.host, port: home.port)
        self.current = self.home
    }

    /// Notes the leader that a node has named. Returns its address; `nil` if the text is not an address.
    @discardableResult
    package mutating func learn(_ text: String?) -> ServerAddress? {
        guard let text, let address = try? ServerAddress(text) else { return nil }
        // The user decides about TLS, not the peer.
        self.leader = ServerAddress(host: address.host, port: address.port)
        return self.leader
    }

    package mutating func move(to address: ServerAddress) {
        self.current = address
        self.hasTriedOne = false
    }

    package mutating func connected() {
        self.hasTriedOne = false
    }

    /// Chooses the address of the next attempt after a failed one: the two take turns. Returns whether the client must
    /// pause before it.
    package mutating func attemptFailed() -> Bool {
        guard let leader = self.leader, leader != self.home else {
            self.current = self.home
            return true
        }
        self.current = self.current == self.home ? leader : self.home
        self.hasTriedOne.toggle()
        return !self.hasTriedOne
    }
}
