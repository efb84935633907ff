import NestModel
import NestSecrets
import NestProtocol

/// What administrators do about tokens. All of it needs the role `admin`.
extension NestClient {
    /// Makes a token and returns it: the only time that anybody has its secret, which is made here and of which the server is told
    /// nothing but the SHA-256.
    public func createToken(_ grant: TokenGrant) async throws(NestError) -> AccessToken {
        let secret = TokenSecret.random()
        let number = try await self.ask(CreateToken(grant, secretHash: secret.sha256)).number
        return AccessToken(number: number, secret: secret)
    }

    /// All tokens, without their secrets.
    public func tokens() async throws(NestError) -> [TokenDescription] {
        try await self.ask(ListTokens()).tokens
    }

    /// Takes a token back; connections with it end at once.
    public func revokeToken(_ number: UInt64) async throws(NestError) {
        _ = try await self.ask(RevokeToken(number: number), kind: .connection)
    }
}
