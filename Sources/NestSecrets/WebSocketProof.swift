import NestModel

#if canImport(CryptoKit)
import CryptoKit
#else
import CCrypto
#endif

/// The proof that a server has read a WebSocket client's key (RFC 6455, section 4.2.2). It needs SHA-1, and is no
/// secret.
package enum WebSocketProof {
    package static func of(key: String) -> String {
        Base64.text(self.sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    private static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        #if canImport(CryptoKit)
        return Array(Insecure.SHA1.hash(data: bytes))
        #else
        return [UInt8](unsafeUninitializedCapacity: Int(SHA_DIGEST_LENGTH)) { digest, count in
            // Fails only without a buffer for the digest.
            _ = SHA1(bytes, bytes.count, digest.baseAddress)
            count = Int(SHA_DIGEST_LENGTH)
        }
        #endif
    }
}
