import NestModel

/// Rows of a sub-tree, packed: uncompressed in the form of `SubtreeChunkReader`, or compressed.
package struct SubtreeChunk: OpaqueMessage, Equatable {
    package static let type = MessageType.subtreeChunk
    package var bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// `compressor`: `nil` if the peer does not support compression.
    package init(packing chunk: [UInt8], _ compressor: Zstandard.Compressor?) {
        self.bytes = PackedBytes.pack(chunk, compressor, level: PackedBytes.transferLevel)
    }

    /// Makes a chunk of an import. Leaves it uncompressed if compression would leave too few bytes for the rows.
    package init(packing chunk: [UInt8], rowCount: Int, _ compressor: Zstandard.Compressor?) {
        self.init(packing: chunk, compressor)
        if rowCount > Limits.chunkRowsPerByteMax * self.bytes.count { self.init(packing: chunk, nil) }
    }

    /// Returns the decompressed chunk for `SubtreeChunkReader`. Checks the size before it allocates memory.
    package func unpacked() throws(DecodingFailure) -> [UInt8] {
        do throws(Zstandard.Failure) {
            return try PackedBytes.unpack(self.bytes, sizeMax: Limits.chunkUnpackedBytesMax)
        } catch {
            throw DecodingFailure(.invalidValue, "chunk")
        }
    }
}
