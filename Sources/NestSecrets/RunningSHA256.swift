#if canImport(CryptoKit)
import CryptoKit
#else
import CCrypto
#endif

/// SHA-256 of bytes that arrive in parts. A value: a copy goes on by itself.
package struct RunningSHA256: Sendable {
    #if canImport(CryptoKit)
    private var hash = SHA256()

    package init() {}

    package mutating func update(_ bytes: [UInt8]) { self.hash.update(data: bytes) }

    /// The hash of the bytes so far.
    package var digest: [UInt8] { Array(self.hash.finalize()) }
    #else
    private var context = SHA256_CTX()

    package init() { SHA256_Init(&self.context) }

    package mutating func update(_ bytes: [UInt8]) { SHA256_Update(&self.context, bytes, bytes.count) }

    /// The hash of the bytes so far.
    package var digest: [UInt8] {
        var context = self.context
        return [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            SHA256_Final(digest.baseAddress, &context)
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }
    #endif
}
