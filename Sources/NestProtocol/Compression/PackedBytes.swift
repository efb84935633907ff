import NestModel

/// Bytes after a byte that specifies whether they are compressed: 0 uncompressed, 1 one Zstandard frame.
package enum PackedBytes {
    /// The least size to compress: smaller bytes gain nothing.
    package static let compressedMin = 1 << 10

    /// The level for transfers: a third slower than level 1, and a tenth smaller.
    package static let transferLevel: Int32 = 3

    /// The level for frames, which a client waits for: the fastest that finds more than runs.
    package static let frameLevel: Int32 = 1

    /// `compressor`: `nil` to leave the bytes uncompressed.
    package static func pack(_ bytes: [UInt8], _ compressor: Zstandard.Compressor?, level: Int32 = 1) -> [UInt8] {
        if let compressor, bytes.count >= Self.compressedMin {
            let compressed = compressor.compress(bytes, level: level)
            if compressed.count < bytes.count { return self.bytes(1, compressed) }
        }
        return self.bytes(0, bytes)
    }

    private static func bytes(_ first: UInt8, _ others: [UInt8]) -> [UInt8] {
        var all: [UInt8] = []
        all.reserveCapacity(others.count + 1)
        all.append(first)
        all.append(contentsOf: others)
        return all
    }

    /// Checks the declared size against `sizeMax` before anything is allocated.
    package static func unpack(_ packed: [UInt8], sizeMax: Int) throws(Zstandard.Failure) -> [UInt8] {
        switch packed.first {
        case 0 where packed.count - 1 <= sizeMax: Array(packed.dropFirst())
        case 1: try Zstandard.decompress(Array(packed.dropFirst()), sizeMax: sizeMax)
        default: throw .malformed
        }
    }
}
