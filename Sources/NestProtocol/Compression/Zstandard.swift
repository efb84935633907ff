import NestModel
import CZstd

/// Compresses with Zstandard: one frame a call, no dictionary, so no frame depends on another.
package enum Zstandard {
    package enum Failure: Error, Equatable {
        /// The bytes are not one whole frame with a content size within the limit.
        case malformed
    }

    /// Keeps zstd's working memory between calls: setting it up takes as long as compressing a few kilobytes.
    package final class Compressor {
        private let context: OpaquePointer

        package init() {
            guard let context = ZSTD_createCCtx() else { preconditionFailure("there is memory for zstd") }
            self.context = context
        }

        deinit {
            ZSTD_freeCCtx(self.context)
        }

        /// Compresses into a frame with its content size, which `decompress` requires.
        package func compress(_ bytes: [UInt8], level: Int32 = 1) -> [UInt8] {
            let bound = ZSTD_compressBound(bytes.count)
            return [UInt8](unsafeUninitializedCapacity: bound) { buffer, initialized in
                let count = bytes.withUnsafeBytes {
                    ZSTD_compressCCtx(self.context, buffer.baseAddress, bound, $0.baseAddress, $0.count, level)
                }
                precondition(ZSTD_isError(count) == 0, "zstd compresses into its own bound")
                initialized = count
            }
        }
    }

    /// Checks the declared size against `sizeMax` before anything is allocated.
    package static func decompress(_ bytes: [UInt8], sizeMax: Int) throws(Failure) -> [UInt8] {
        let declared = bytes.withUnsafeBytes { ZSTD_getFrameContentSize($0.baseAddress, $0.count) }
        let frame = bytes.withUnsafeBytes { ZSTD_findFrameCompressedSize($0.baseAddress, $0.count) }
        // The two largest values mean "unknown" and "error".
        guard declared <= UInt64(max(sizeMax, 0)), frame == bytes.count else { throw .malformed }
        let size = Int(declared)
        let output = [UInt8](unsafeUninitializedCapacity: max(size, 1)) { buffer, initialized in
            let count = bytes.withUnsafeBytes {
                ZSTD_decompress(buffer.baseAddress, size, $0.baseAddress, $0.count)
            }
            initialized = ZSTD_isError(count) == 0 ? count : 0
        }
        guard output.count == size else { throw .malformed }
        return output
    }
}
