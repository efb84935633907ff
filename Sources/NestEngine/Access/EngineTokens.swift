import NestModel
import NestStore

/// The valid tokens, and when they were used.
package struct EngineTokens {
    /// The time between two writes of uses to the store.
    private static let useMicroseconds: Int64 = 60_000_000

    package private(set) var all: [UInt64: Store.Token]
    private var uses: [UInt64: Int64] = [:]
    private var written: Int64 = 0
    /// Tokens created and revoked so far.
    package private(set) var changeCount = 0

    package init(_ tokens: [Store.Token]) {
        self.all = Dictionary(uniqueKeysWithValues: tokens.map { ($0.description.number, $0) })
    }

    /// Ends a connection whose token is revoked.
    package static let revoked = NestError(.unauthenticated, "this server wants a valid token")

    /// Whether a connection with this token is let in; of one without a token the I/O layer has decided.
    package mutating func use(_ number: UInt64?, now: Int64) -> Bool {
        guard let number else { return true }
        guard self.all[number] != nil else { return false }
        self.all[number]?.description.lastUsed = now
        self.uses[number] = now
        return true
    }

    /// The uses to write to the store; none most of the time.
    package mutating func takeUses(now: Int64) -> [UInt64: Int64] {
        guard !self.uses.isEmpty, now - self.written > Self.useMicroseconds else { return [:] }
        defer { self.uses = [:] }
        self.written = now
        return self.uses.filter { self.all[$0.key] != nil }
    }

    /// Creates a token, or finds the one with the same secret. Returns its number, and the change if it is new.
    mutating func create(
        _ grant: TokenGrant,
        secretHash: TokenSecret,
        in store: Store,
        now: Int64
    ) throws(StoreError) -> (number: UInt64, change: TokenChange?) {
        let token = try store.createToken(grant, secretHash: secretHash, now: now)
        let number = token.description.number
        guard self.all[number] == nil else { return (number, nil) }
        self.add(token)
        return (number, .created(token))
    }

    mutating func revoke(_ number: UInt64, in store: Store) throws(StoreError) -> TokenChange {
        try store.revokeToken(number)
        self.remove(number)
        return .revoked(number)
    }

    package mutating func add(_ token: Store.Token) {
        self.all[token.description.number] = token
        self.changeCount += 1
    }

    package mutating func remove(_ number: UInt64) {
        self.all[number] = nil
        self.uses[number] = nil
        self.changeCount += 1
    }

    /// All tokens, by number, with how many connections use each.
    func descriptions(connections counts: [UInt64: Int]) -> [TokenDescription] {
        self.all.values.map { token in
            var description = token.description
            description.connections = counts[description.number] ?? 0
            return description
        }.sorted { $0.number < $1.number }
    }
}
