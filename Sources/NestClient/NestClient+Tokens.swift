import NestModel
import NestSecrets
import NestProtocol

/// Management of tokens. All of it requires the role `admin`.
extension NestClient {
    /// Creates a token and returns it. The secret is generated here, and the server receives only its SHA-256 hash, so
    /// the secret is available only now.
    public func createToken(_ grant: TokenGrant) async throws(NestError) -> AccessToken {
        let secret = TokenSecret.random()
        let number = try await self.ask(CreateToken(grant, secretHash: secret.sha256)).number
        return AccessToken(number: number, secret: secret)
    }

    /// Returns all tokens, without their secrets.
    public func tokens() async throws(NestError) -> [TokenDescription] {
        try await self.ask(ListTokens()).tokens
    }

    /// Revokes a token. Its connections end at once.
    public func revokeToken(_ number: UInt64) async throws(NestError) {
        _ = try await self.ask(RevokeToken(number: number), kind: .connection)
    }
}
