import NestModel

/// Bytes behind a byte that says whether they are compressed: 0 as they are, 1 one Zstandard frame.
package enum PackedBytes {
    /// Smaller bytes are kept as they are: compressing them gains nothing.
    package static let compressedMin = 1 << 10

    /// Of what goes over a network: a third slower than the quickest, and a tenth smaller.
    package static let transferLevel: Int32 = 3

    /// Of frames, for which somebody waits: the quickest that looks for more than runs.
    package static let frameLevel: Int32 = 1

    /// `compressor`: `nil` when they must stay as they are.
    package static func pack(_ bytes: [UInt8], _ compressor: Zstandard.Compressor?, level: Int32 = 1) -> [UInt8] {
        if let compressor, bytes.count >= Self.compressedMin {
            let compressed = compressor.compress(bytes, level: level)
            if compressed.count < bytes.count { return [1] + compressed }
        }
        return [0] + bytes
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
