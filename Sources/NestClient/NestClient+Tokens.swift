import NestModel
import NestSecrets
import NestProtocol

/// What administrators do about tokens. All of it needs the role `admin`.
extension NestClient {
    /// Makes a token and returns it: the only time that anybody has its secret, which is made here and of which the server is told
    /// nothing but the SHA-256.
    public func createToken(_ grant: TokenGrant) async throws(NestError) -> AccessToken {
        let secret = TokenSecret.random()
        let reply = try await self.read(CreateToken(grant, secretHash: secret.sha256))
        guard case .tokenCreated(let number) = reply else { throw Self.unexpected(reply) }
        return AccessToken(number: number, secret: secret)
    }

    /// All tokens, without their secrets.
    public func tokens() async throws(NestError) -> [TokenDescription] {
        let reply = try await self.read(ListTokens())
        guard case .tokens(let tokens) = reply else { throw Self.unexpected(reply) }
        return tokens
    }

    /// Takes a token back; connections with it end at once.
    public func revokeToken(_ number: UInt64) async throws(NestError) {
        let reply = try await self.core.request(timeout: self.configuration.requestTimeout) { machine, token in
            machine.submit(OutgoingRequest(owner: .caller(token), kind: .connection, RevokeToken(number: number)))
        }
        guard case .done = reply else { throw Self.unexpected(reply) }
    }
}
