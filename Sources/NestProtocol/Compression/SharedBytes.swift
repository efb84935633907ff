import NestModel
import NIOConcurrencyHelpers

/// Bytes for any number of receivers, compressed at most once, by the first thread that needs them compressed.
package final class SharedBytes: Sendable {
    package let bytes: [UInt8]
    private let compressed = NIOLockedValueBox(Compressed.untried)

    private enum Compressed {
        case untried
        case smaller([UInt8])
        case noSmaller
    }

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns the bytes as one Zstandard frame; `nil` if that is not smaller. Other callers wait while the first one
    /// compresses.
    package func compressed(by compressor: Zstandard.Compressor) -> [UInt8]? {
        self.compressed.withLockedValue { compressed -> [UInt8]? in
            switch compressed {
            case .smaller(let bytes): return bytes
            case .noSmaller: return nil
            case .untried:
                let bytes = compressor.compress(self.bytes, level: PackedBytes.frameLevel)
                guard bytes.count < self.bytes.count else {
                    compressed = .noSmaller
                    return nil
                }
                compressed = .smaller(bytes)
                return bytes
            }
        }
    }
}
