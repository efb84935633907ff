import NestModel
import NestStore

/// The valid tokens, and when they were used.
package struct EngineTokens {
    /// The minimum time between two writes of use times to the store.
    private static let useMicroseconds: Int64 = 60_000_000

    package private(set) var all: [UInt64: Store.Token]
    private var uses: [UInt64: Int64] = [:]
    private var written: Int64 = 0
    /// The number of tokens created and revoked so far.
    package private(set) var changeCount = 0

    package init(_ tokens: [Store.Token]) {
        self.all = Dictionary(uniqueKeysWithValues: tokens.map { ($0.description.number, $0) })
    }

    /// The error that ends a connection whose token was revoked.
    package static let revoked = NestError(.unauthenticated, "the token is no longer valid: connect with a valid token")

    /// Notes the use of a token. Returns whether the token is valid. Connections without a token were already admitted
    /// by the I/O layer.
    package mutating func use(_ number: UInt64?, now: Int64) -> Bool {
        guard let number else { return true }
        guard self.all[number] != nil else { return false }
        self.all[number]?.description.lastUsed = now
        self.uses[number] = now
        return true
    }

    /// Returns and clears the use times that are due to be written to the store; mostly none.
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

    mutating func revoke(_ number: UInt64, in store: Store, now: Int64) throws(StoreError) -> TokenChange {
        try store.revokeToken(number, now: now)
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

    /// Returns all tokens, ascending by number, with the number of connections that use each.
    func descriptions(connections counts: [UInt64: Int]) -> [TokenDescription] {
        self.all.values.map { token in
            var description = token.description
            description.connections = counts[description.number] ?? 0
            return description
        }.sorted { $0.number < $1.number }
    }
}
