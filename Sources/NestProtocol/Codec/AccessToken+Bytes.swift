import NestModel

extension ByteWriter {
    package mutating func write(tokenSecret: TokenSecret) {
        self.write(identifier: tokenSecret.high)
        self.write(identifier: tokenSecret.low)
    }
}

extension ByteReader {
    package mutating func tokenSecret(_ field: StaticString) throws(DecodingFailure) -> TokenSecret {
        TokenSecret(high: try self.identifier(field), low: try self.identifier(field))
    }
}
