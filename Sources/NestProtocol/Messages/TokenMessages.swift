import NestModel

/// Creates a token, for administrators. The server receives only the SHA-256 of its secret.
package struct CreateToken: Query, Equatable {
    package typealias Answer = TokenCreated
    package static let type = MessageType.createToken
    package var secretHash: TokenSecret
    package var grant: TokenGrant

    package init(_ grant: TokenGrant, secretHash: TokenSecret) {
        self.secretHash = secretHash
        self.grant = grant
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.secretHash = try reader.tokenSecret("hash")
        self.grant = try reader.tokenGrant()
        if !reader.isAtEnd { try reader.readIdentity(into: &self.grant) }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(tokenSecret: self.secretHash)
        writer.write(tokenGrant: self.grant)
        if self.grant.hasIdentity { writer.write(identity: self.grant) }
    }
}

/// The reply: the token's number, which the client puts before the secret.
package struct TokenCreated: Message, Equatable {
    package static let type = MessageType.tokenCreated
    package var number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.number = try reader.varint("token")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: self.number)
    }
}

package struct ListTokens: EmptyMessage, Query, Equatable {
    package typealias Answer = TokenList
    package static let type = MessageType.listTokens
    package init() {}
}

/// The reply: all tokens, ascending.
package struct TokenList: Message, Equatable {
    package static let type = MessageType.tokenList
    package var tokens: [TokenDescription]

    package init(_ tokens: [TokenDescription]) {
        self.tokens = tokens
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.tokens = []
        for _ in 0..<(try reader.count("tokens", max: Limits.tokensMax, bytesEach: 25)) {
            self.tokens.append(
                TokenDescription(
                    number: try reader.varint("token"),
                    grant: try reader.tokenGrant(),
                    created: try reader.integer(Int64.self, "created"),
                    lastUsed: try reader.integer(Int64.self, "last used"),
                    connections: try reader.index("connections")
                )
            )
        }
        guard !reader.isAtEnd else { return }
        guard try reader.count("identities", max: self.tokens.count, bytesEach: 2) == self.tokens.count else {
            throw DecodingFailure(.invalidValue, "identities")
        }
        for index in self.tokens.indices { try reader.readIdentity(into: &self.tokens[index].grant) }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.tokens.count)
        for token in self.tokens {
            writer.write(varint: token.number)
            writer.write(tokenGrant: token.grant)
            writer.write(integer: token.created)
            writer.write(integer: token.lastUsed)
            writer.write(count: token.connections)
        }
        guard self.tokens.contains(where: \.grant.hasIdentity) else { return }
        writer.write(count: self.tokens.count)
        for token in self.tokens { writer.write(identity: token.grant) }
    }
}

/// Revokes a token and closes its connections at once.
package struct RevokeToken: Query, Equatable {
    package typealias Answer = Done
    package static let type = MessageType.revokeToken
    package var number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.number = try reader.varint("token")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: self.number)
    }
}
