import NestModel
import NestProtocol
import NestTestSupport
import Testing

@testable import NestStore

/// The tokens of a store.
@Suite struct TokenTests {
    private static let secret = TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: 4))
    private static let admin = TokenGrant(name: "me", role: .admin)

    private func store() throws -> Store {
        try Store(
            Store.Configuration(location: .memory, model: .nestedList),
            newHistoryID: Identifier128(high: 1, low: 1)
        )
    }

    /// A client that repeats a lost request gets the same token.
    @Test func aRepeatedSecretIsTheSameToken() throws {
        let store = try self.store()
        try store.access {
            let first = try store.createToken(Self.admin, secretHash: Self.secret, now: 1)
            let again = try store.createToken(Self.admin, secretHash: Self.secret, now: 2)
            #expect(again.description.number == first.description.number)
            #expect(try store.tokens().count == 1)
        }
        try store.close()
    }

    /// One secret cannot have two meanings. This is the request's fault, not a failure of the storage.
    @Test func aSecretThatAnotherGrantHasIsRefused() throws {
        let store = try self.store()
        try store.access {
            let first = try store.createToken(Self.admin, secretHash: Self.secret, now: 1)
            let error = #expect(throws: StoreError.self) {
                try store.createToken(TokenGrant(name: "guest", role: .read), secretHash: Self.secret, now: 2)
            }
            #expect(error?.refusal?.code == .conflict, "\(String(describing: error))")
            #expect(error?.refusal?.message.contains("token \(first.description.number) has the same secret") == true)
            #expect(try store.tokens().count == 1)
            // After the token is revoked, its secret is free.
            let other = TokenSecret(high: Self.secret.low, low: Self.secret.high)
            _ = try store.createToken(TokenGrant(name: "other", role: .admin), secretHash: other, now: 3)
            try store.revokeToken(first.description.number, now: 4)
            let guest = try store.createToken(TokenGrant(name: "guest", role: .read), secretHash: Self.secret, now: 4)
            #expect(guest.description.grant.role == .read)
        }
        try store.close()
    }

    // MARK: Users and expiries

    private static func secret(_ number: UInt64) -> TokenSecret {
        TokenSecret(high: Identifier128(high: 9, low: number), low: Identifier128(high: 9, low: number))
    }

    private func refusal(_ store: Store, _ grant: TokenGrant, now: Int64, _ secret: UInt64 = 50) -> NestError? {
        do {
            _ = try store.access { try store.createToken(grant, secretHash: Self.secret(secret), now: now) }
            return nil
        } catch {
            return (error as? StoreError)?.refusal
        }
    }

    /// An expiry in the past, also 0 and before 1970, is refused and never means "never".
    @Test func anExpiryMustBeInTheFuture() throws {
        let store = try self.store()
        let now: Int64 = 1_000
        for expires in [Int64.min, -1, 0, 1, now] {
            let grant = TokenGrant(name: "t", role: .admin, expires: expires)
            #expect(self.refusal(store, grant, now: now)?.code == .invalid, "\(expires)")
        }
        for expires in [Limits.tokenExpiryMax + 1, 1 << 62, Int64.max] {
            let grant = TokenGrant(name: "t", role: .admin, expires: expires)
            #expect(self.refusal(store, grant, now: now)?.code == .invalid, "\(expires)")
        }
        #expect(try store.access { try store.tokens().isEmpty })
        for (number, expires) in [now + 1, Limits.tokenExpiryMax].enumerated() {
            let grant = TokenGrant(name: "t", role: .admin, expires: expires)
            #expect(self.refusal(store, grant, now: now, UInt64(number)) == nil)
        }
        #expect(
            try store.access { try store.tokens() }.map(\.description.grant.expires) == [1_001, Limits.tokenExpiryMax]
        )
        try store.close()
    }

    /// The answer to CREATE_TOKEN may come again after the token has expired.
    @Test func aRepeatedSecretIsTheSameTokenAfterItsExpiry() throws {
        let store = try self.store()
        let grant = TokenGrant(name: "t", role: .admin, user: "Ann", expires: 10)
        try store.access {
            let first = try store.createToken(grant, secretHash: Self.secret, now: 1)
            #expect(try store.createToken(grant, secretHash: Self.secret, now: 99).description == first.description)
            for other in [TokenGrant(name: "t", role: .admin, user: "Bob", expires: 10), Self.admin] {
                let error = #expect(throws: StoreError.self) {
                    try store.createToken(other, secretHash: Self.secret, now: 2)
                }
                #expect(error?.refusal?.code == .conflict)
            }
        }
        try store.close()
    }

    /// An expired admin token administers nothing. The last valid one therefore stays, and so does the last token.
    @Test func theLastValidAdminTokenIsNotRevoked() throws {
        let store = try self.store()
        func revoke(_ number: UInt64, now: Int64) -> ErrorCode? {
            do {
                try store.access { try store.revokeToken(number, now: now) }
                return nil
            } catch {
                return (error as? StoreError)?.refusal?.code
            }
        }
        for (secret, expires) in ([nil, 10, nil, 20] as [Int64?]).enumerated() {
            let grant = TokenGrant(name: "t", role: .admin, expires: expires)
            #expect(self.refusal(store, grant, now: 1, UInt64(secret)) == nil)
        }
        // Token 4 is still valid, then token 1 alone.
        #expect(revoke(3, now: 19) == nil)
        #expect(revoke(1, now: 20) == .conflict)
        // Expired tokens are revoked while token 1 is valid.
        #expect(revoke(2, now: 20) == nil)
        #expect(revoke(1, now: 19) == nil)
        // The expired one is the last token: without any, every client would be an administrator.
        #expect(revoke(4, now: 20) == .conflict)
        #expect(try store.access { try store.tokens() }.map(\.description.number) == [4])
        try store.close()
    }

    @Test func usersAndExpiriesAreKept() throws {
        let directory = TemporaryDirectory()
        let configuration = Store.Configuration(
            location: .file("\(directory.path)/nest.sqlite"),
            model: .nestedList
        )
        let grants = [
            TokenGrant(name: "a", role: .admin), TokenGrant(name: "b", role: .read, user: "Ann"),
            TokenGrant(name: "c", role: .write, expires: 5_000),
            TokenGrant(name: "d", role: .write, user: "Bob", expires: Limits.tokenExpiryMax),
        ]
        var store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        for (number, grant) in grants.enumerated() {
            #expect(self.refusal(store, grant, now: 1, UInt64(number)) == nil)
        }
        try store.close()
        store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        #expect(try store.access { try store.tokens() }.map(\.description.grant) == grants)
        #expect(grants.map(\.label?.text) == ["a", "Ann", "c", "Bob"])
        try store.close()
    }

    @Test func labelsAreLimited() throws {
        let store = try self.store()
        let long = String(repeating: "x", count: Limits.nameBytesMax + 1)
        #expect(self.refusal(store, TokenGrant(name: "t", role: .admin, user: long), now: 1)?.code == .valueTooLarge)
        try store.close()
    }

    /// The list of the longest labels fits into a frame.
    @Test func theListOfTokensFitsIntoAFrame() throws {
        let store = try self.store()
        let long = String(repeating: "x", count: Limits.nameBytesMax)
        let grant = TokenGrant(name: long, role: .admin, user: long)
        var refusal: NestError?
        // Most of them without the check, which reads all.
        var number = UInt64(Limits.frameBytesMax / (2 * Limits.nameBytesMax + 64))
        try store.access {
            for secret in 1...number {
                try store.insertToken(number: nil, grant, secretHash: Self.secret(secret), created: 1)
            }
        }
        while refusal == nil {
            number += 1
            refusal = self.refusal(store, grant, now: 1, number)
        }
        #expect(refusal?.code == .limitExceeded)
        let tokens = try store.access { try store.tokens() }.map(\.description)
        // Also with the connections that they may have later.
        func listed(_ tokens: [TokenDescription]) -> Int {
            TokenList(
                tokens.map { token in
                    var token = token
                    token.connections = 1_000_000
                    return token
                }
            ).body.count
        }
        #expect(listed(tokens) <= Limits.frameBytesMax)
        // The next one would be too much.
        #expect(listed(tokens + [tokens[0]]) > Limits.frameBytesMax - 64)
        try store.close()
    }
}
