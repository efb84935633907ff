import NestModel

#if canImport(CryptoKit)
import CryptoKit
#else
import CCrypto
#endif

/// The hash of a record of the log and of all records before it: SHA-256 over the chain before, the position and the
/// record's bytes, cut to 16 bytes. Two logs with the same chain at a position have the same records up to it.
package struct Chain: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: Identifier128

    package init(_ rawValue: Identifier128) {
        self.rawValue = rawValue
    }

    /// The chain before the first record.
    package static let empty = Chain(Identifier128(high: 0, low: 0))

    /// The number of bytes of a chain.
    package static let byteCount = 16

    /// Returns the chain of the record at a position. Reads the record once, in parts.
    package func followed(by bytes: LogBytes, at position: Int64) throws(StoreError) -> Chain {
        var prefix = ByteWriter(capacity: 24)
        prefix.write(identifier: self.rawValue)
        prefix.write(integer: position)
        var hash = RunningHash()
        hash.update(prefix.bytes)
        try bytes.forEachPart { hash.update($0) }
        return Chain(hash.finish())
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.write(identifier: self.rawValue)
        return writer.bytes
    }

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount,
            let value = try? ByteReader.read(
                bytes,
                { (reader) throws(DecodingFailure) in try reader.identifier("chain") }
            )
        else { return nil }
        self.init(value)
    }

    package var description: String { self.rawValue.hex }
}

/// SHA-256 of bytes that arrive in parts.
struct RunningHash: ~Copyable {
    #if canImport(CryptoKit)
    private var hash = SHA256()

    mutating func update(_ bytes: [UInt8]) { self.hash.update(data: bytes) }

    consuming func finishWhole() -> [UInt8] { Array(self.hash.finalize()) }
    #else
    private let context: OpaquePointer

    init() {
        // Both fail only without memory.
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("SHA-256 is not available")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(self.context) }

    mutating func update(_ bytes: [UInt8]) { EVP_DigestUpdate(self.context, bytes, bytes.count) }

    consuming func finishWhole() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            var size: UInt32 = 0
            EVP_DigestFinal_ex(self.context, digest.baseAddress, &size)
            count = Int(size)
        }
    }
    #endif

    /// Returns the first 16 bytes of the hash.
    consuming func finish() -> Identifier128 { Self.first(self.finishWhole()) }

    private static func first(_ digest: [UInt8]) -> Identifier128 {
        func word(_ index: Int) -> UInt64 { digest[index * 8..<index * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        return Identifier128(high: word(0), low: word(1))
    }
}
