import NestModel
import NestProtocol

#if canImport(CryptoKit)
import CryptoKit
#else
import CCrypto
#endif

/// Makes, hashes and compares the secrets of access tokens. No other code does.
extension TokenSecret {
    /// A new secret from the system's random number generator.
    package static func random() -> TokenSecret {
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
    }

    /// The hash that the server stores instead of the secret. A secret has 256 random bits and cannot be guessed, so
    /// one round of SHA-256 without salt is enough.
    package var sha256: TokenSecret {
        var writer = ByteWriter()
        writer.write(tokenSecret: self)
        let digest = Self.sha256(writer.bytes)
        func word(_ index: Int) -> UInt64 { digest[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        return TokenSecret(
            high: Identifier128(high: word(0), low: word(1)),
            low: Identifier128(high: word(2), low: word(3))
        )
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        #if canImport(CryptoKit)
        return Array(SHA256.hash(data: bytes))
        #else
        return [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            // Fails only without a buffer for the digest.
            _ = SHA256(bytes, bytes.count, digest.baseAddress)
            count = Int(SHA256_DIGEST_LENGTH)
        }
        #endif
    }

    /// Whether two secrets are equal. The time it takes does not depend on where they differ.
    package func isEqualInConstantTime(to other: TokenSecret) -> Bool {
        let difference =
            (self.high.high ^ other.high.high) | (self.high.low ^ other.high.low) | (self.low.high ^ other.low.high)
            | (self.low.low ^ other.low.low)
        return difference == 0
    }
}
