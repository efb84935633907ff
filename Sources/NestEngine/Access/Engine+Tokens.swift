import NestModel
import NestStore

/// The tokens that are good, and when they were used.
package struct EngineTokens {
    /// Between two times at which uses are written down.
    private static let useMicroseconds: Int64 = 60_000_000

    package private(set) var all: [UInt64: Store.Token]
    private var uses: [UInt64: Int64] = [:]
    private var written: Int64 = 0

    init(_ tokens: [Store.Token]) {
        self.all = Dictionary(uniqueKeysWithValues: tokens.map { ($0.description.number, $0) })
    }

    /// What a connection is told whose token is taken back.
    package static let revoked = NestError(.unauthenticated, "this server wants a valid token")

    /// Whether a connection with this token is let in; without one the rim has decided.
    mutating func use(_ number: UInt64?, now: Int64) -> Bool {
        guard let number else { return true }
        guard self.all[number] != nil else { return false }
        self.all[number]?.description.lastUsed = now
        self.uses[number] = now
        return true
    }

    /// What has to be written down; nothing most of the time.
    mutating func takeUses(now: Int64) -> [UInt64: Int64] {
        guard !self.uses.isEmpty, now - self.written > Self.useMicroseconds else { return [:] }
        defer { self.uses = [:] }
        self.written = now
        return self.uses.filter { self.all[$0.key] != nil }
    }

    mutating func add(_ token: Store.Token) { self.all[token.description.number] = token }

    mutating func remove(_ number: UInt64) {
        self.all[number] = nil
        self.uses[number] = nil
    }
}

/// What administrators do about tokens.
extension Engine {
    func createToken(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ grant: TokenGrant,
        secretHash: TokenSecret,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        let token = try self.store.createToken(grant, secretHash: secretHash, now: now)
        let number = token.description.number
        if self.tokens.all[number] == nil {
            self.tokens.add(token)
            self.tokenChanges += 1
            self.rimEffectCount += 1
            effects.append(.tokensChanged(.created(token), by: self.connections[id]?.token))
        }
        self.reply(id, requestID, .tokenCreated(number), &effects)
    }

    func tokenDescriptions() -> [TokenDescription] {
        var counts: [UInt64: Int] = [:]
        for connection in self.connections.values { if let token = connection.token { counts[token, default: 0] += 1 } }
        return self.tokens.all.values.map { token in
            var description = token.description
            description.connections = counts[description.number] ?? 0
            return description
        }.sorted { $0.number < $1.number }
    }

    /// Connections with the token end, but for what they were sent before; so does that of who revokes its own.
    func revokeToken(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ number: UInt64,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        try self.store.revokeToken(number)
        self.tokens.remove(number)
        self.tokenChanges += 1
        self.rimEffectCount += 1
        effects.append(.tokensChanged(.revoked(number), by: self.connections[id]?.token))
        self.reply(id, requestID, .done, &effects)
        for (other, connection) in self.connections.sorted(by: { $0.key < $1.key }) where connection.token == number {
            effects.append(.end(other, EngineTokens.revoked))
            // What it has asked for meanwhile is not done any more.
            self.disconnect(other, now: now)
        }
    }
}
