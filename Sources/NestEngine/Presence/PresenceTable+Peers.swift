import NestModel
import NestProtocol

/// Presence at the other nodes of a cluster: each follower sends the leader what its clients show, and the leader sends
/// each node what the clients of all others show.
extension PresenceTable {
    /// The body of a PEER_PRESENCE frame.
    package struct Relay: Sendable {
        package var body: [UInt8]
        package var peer: Peer
    }

    /// The link to a node is up: it gets the whole state.
    package mutating func connect(_ peer: Peer) { self.peers[peer] = true }

    /// The link to a node is lost. What it has said stays for a while: it may say it again over another link.
    package mutating func disconnect(_ peer: Peer, now: Int64) {
        guard self.peers.removeValue(forKey: peer) != nil else { return }
        if self.peers.isEmpty { self.relayed = [] }
        self.loseAll(of: peer, now: now)
    }

    private mutating func loseAll(of peer: Peer, now: Int64) {
        for scope in self.scopes.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let numbers = self.scopes[scope]?.entries.filter { $0.value.owner == .peer(peer) }.keys.sorted() ?? []
            for number in numbers { self.lose(Key(scope: scope, number: number), now: now) }
        }
    }

    /// Takes what another node says about its clients, or about those of other nodes. What does not fit is left out.
    package mutating func take(_ message: PeerPresence, from peer: Peer, now: Int64) {
        if message.begins {
            self.loseAll(of: peer, now: now)
            if self.peers[peer] == nil { self.connect(peer) }
        }
        guard self.peers[peer] != nil else { return }
        for change in message.changes {
            let key = Key(scope: change.scope, number: change.number)
            let owner = self.scopes[key.scope]?.entries[key.number]?.owner
            // Between two leaders the same presence may come from two sides: the first one counts.
            guard owner == nil || owner == .peer(peer) || owner?.isLost == true else { continue }
            guard let state = change.state else {
                self.remove(key)
                continue
            }
            let entry = Entry(owner: .peer(peer), session: change.session, next: (state, change.revision))
            guard self.hasRoom(for: entry, key), owner != nil || self.hasSlot(in: key.scope, session: entry.session)
            else { continue }
            self.put(entry, key)
        }
    }

    /// Returns what the other nodes must hear now. `head`: the newest revision of this node.
    package mutating func relay(now: Int64, head: Revision) -> [Relay] {
        let hasNew = self.peers.values.contains(true)
        guard hasNew || !self.relayed.isEmpty && self.relayPace.isDue(now) else { return [] }
        self.relayPace.sent(now: now, pause: Self.frameTime)
        let changed = self.relayed.sorted()
        self.relayed = []
        var relays: [Relay] = []
        for (peer, isNew) in self.peers.sorted(by: { $0.key < $1.key }) {
            self.peers[peer] = false
            let keys = isNew ? self.allKeys : changed
            let changes = keys.compactMap { self.change($0, for: peer, head: head) }
            guard isNew || !changes.isEmpty else { continue }
            for (index, part) in Self.parts(changes).enumerated() {
                relays.append(Relay(body: PeerPresence(begins: isNew && index == 0, part).body, peer: peer))
            }
        }
        return relays
    }

    private var allKeys: [Key] {
        self.scopes.flatMap { scope, state in state.entries.keys.map { Key(scope: scope, number: $0) } }.sorted()
    }

    /// Returns `nil` for what the peer itself has said.
    private func change(_ key: Key, for peer: Peer, head: Revision) -> PeerPresence.Change? {
        guard let entry = self.scopes[key.scope]?.entries[key.number] else {
            return PeerPresence.Change(
                scope: key.scope,
                number: key.number,
                session: Identifier128(high: 0, low: 0),
                revision: Revision(0),
                nil
            )
        }
        guard entry.owner != .peer(peer) else { return nil }
        let revision = entry.next?.revision ?? head
        return PeerPresence.Change(
            scope: key.scope,
            number: key.number,
            session: entry.session,
            revision: revision,
            entry.state
        )
    }

    /// Divides changes into messages that fit into a frame; at least one.
    private static func parts(_ changes: [PeerPresence.Change]) -> [[PeerPresence.Change]] {
        let countMax = Limits.chunkBytes / (Limits.presenceBytesMax + Limits.nameBytesMax + 64)
        guard !changes.isEmpty else { return [[]] }
        return stride(from: 0, to: changes.count, by: countMax).map {
            Array(changes[$0..<min($0 + countMax, changes.count)])
        }
    }
}

extension PresenceTable.Peer: Comparable {
    package static func < (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.leader, .leader), (.node, .leader): false
        case (.leader, .node): true
        case (.node(let a), .node(let b)): a < b
        }
    }
}
