import NestModel
import NestStore
import NestTestSupport
import Testing

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
            try store.revokeToken(first.description.number)
            let guest = try store.createToken(TokenGrant(name: "guest", role: .read), secretHash: Self.secret, now: 4)
            #expect(guest.description.grant.role == .read)
        }
        try store.close()
    }
}
