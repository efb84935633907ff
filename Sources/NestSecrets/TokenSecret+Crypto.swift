import Crypto
import NestModel
import NestProtocol

/// The only code that hashes and compares what proves who somebody is.
extension TokenSecret {
    /// From the system's source of randomness.
    package static func random() -> TokenSecret {
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
    }

    /// What a server keeps of a secret. The secret has 256 random bits, so one round of SHA-256 without salt gives nobody
    /// anything to guess.
    package var sha256: TokenSecret {
        var writer = ByteWriter()
        writer.write(tokenSecret: self)
        let digest = Array(SHA256.hash(data: writer.bytes))
        func word(_ index: Int) -> UInt64 { digest[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        return TokenSecret(
            high: Identifier128(high: word(0), low: word(1)),
            low: Identifier128(high: word(2), low: word(3))
        )
    }

    /// Whether two are equal, in a time that does not depend on where they differ.
    package func isEqualInConstantTime(to other: TokenSecret) -> Bool {
        let difference =
            (self.high.high ^ other.high.high) | (self.high.low ^ other.high.low) | (self.low.high ^ other.low.high)
            | (self.low.low ^ other.low.low)
        return difference == 0
    }
}
