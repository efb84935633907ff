import NestModel
import NestSecrets
import NestProtocol

/// Management of tokens. All of it requires the role `admin`.
extension NestClient {
    /// Creates a token and returns it. The secret is generated here, and the server receives only its SHA-256 hash, so
    /// the secret is available only now.
    ///
    /// An expiry must be later than the server's clock. A server that knows no users and expiries is refused with
    /// `unsupported`: it would make a token that never expires.
    public func createToken(_ grant: TokenGrant) async throws(NestError) -> AccessToken {
        if let expires = grant.expires, !(1...Limits.tokenExpiryMax).contains(expires) {
            throw NestError(.invalid, "a token expires between now and the end of the year 9999, or never")
        }
        let secret = TokenSecret.random()
        let message = CreateToken(grant, secretHash: secret.sha256)
        let number = try await self.ask(message, needsUsers: grant.hasIdentity).number
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
