import NestModel

/// The addresses that a client connects to: those that its user gave, and that of the leader that a node named last.
///
/// The client tries each address once before it tries one again: a *round*. It pauses between two rounds, not within
/// one.
package struct Route: Equatable, Sendable {
    /// The addresses that the user gave; at least one, none twice.
    package let homes: [ServerAddress]
    /// `nil` until a node has named a leader.
    package private(set) var leader: ServerAddress?
    /// Where the client is connected, or connects next.
    package private(set) var current: ServerAddress
    /// What is left of the round, in the order of the attempts.
    private var untried: [ServerAddress]

    /// Begins at one of the addresses at random.
    package init(homes: [ServerAddress], using random: inout some RandomNumberGenerator) {
        var different: [ServerAddress] = []
        for home in homes {
            // The configuration decides about TLS.
            let home = ServerAddress(host: home.host, port: home.port)
            if !different.contains(home) { different.append(home) }
        }
        self.homes = different.isEmpty ? [ServerAddress()] : different
        self.untried = self.homes.shuffled(using: &random)
        self.current = self.untried.removeFirst()
    }

    /// Whether the user gave the current address.
    package var isHome: Bool { self.homes.contains(self.current) }

    /// Whether the user gave only this address: what it refuses for good, no other server can accept.
    package var isOnly: Bool { self.homes == [self.current] }

    /// Whether all addresses of the round were tried.
    package var isRoundOver: Bool { self.untried.isEmpty }

    /// The addresses of a round. From a list, the client does not go to the leader unless a request needs it.
    private var candidates: [ServerAddress] {
        guard self.homes.count == 1, let leader, !self.homes.contains(leader) else { return self.homes }
        return self.homes + [leader]
    }

    /// Notes the leader that a node has named. Returns its address; `nil` if the text is not an address.
    @discardableResult
    package mutating func learn(_ text: String?) -> ServerAddress? {
        guard let text, let address = try? ServerAddress(text) else { return nil }
        // The user decides about TLS, not the peer.
        self.leader = ServerAddress(host: address.host, port: address.port)
        return self.leader
    }

    /// Goes to the leader. If that fails, the others follow.
    package mutating func move(to address: ServerAddress, using random: inout some RandomNumberGenerator) {
        self.current = address
        self.untried = self.candidates.filter { $0 != address }.shuffled(using: &random)
    }

    /// Begins a round, because the connection to the current address has been good. After the loss of one of several
    /// addresses, the others come first. A single address may stand for several servers, so it comes before the leader.
    package mutating func beginRound(using random: inout some RandomNumberGenerator) {
        let others = self.candidates.filter { $0 != self.current }.shuffled(using: &random)
        self.untried = self.homes.count == 1 ? [self.current] + others : others + [self.current]
    }

    /// Chooses the address of the next attempt. Returns whether it begins a new round.
    package mutating func next(using random: inout some RandomNumberGenerator) -> Bool {
        let isNew = self.untried.isEmpty
        if isNew {
            self.untried = self.candidates.shuffled(using: &random)
            // The address that failed last is not the first again.
            if self.untried.count > 1, self.untried[0] == self.current {
                self.untried.swapAt(0, Int.random(in: 1..<self.untried.count, using: &random))
            }
        }
        self.current = self.untried.removeFirst()
        return isNew
    }
}
