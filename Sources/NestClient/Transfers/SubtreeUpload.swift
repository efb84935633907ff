import NestProtocol
import NestModel

/// Packs rows into chunks and sends them as credit allows.
struct SubtreeUpload {
    private let core: ClientCore
    private let token: RequestToken
    private let stream: TransferStream
    private var writer: SubtreeChunkWriter
    private let compressor: Zstandard.Compressor?
    private let valueCount: Int
    private var checksum = SubtreeChecksum()
    private var rowCount = 0
    private var depth = -1

    /// `valueCount`: the number of properties of each row. `isCompressed`: the server accepts compressed chunks.
    init(core: ClientCore, token: RequestToken, stream: TransferStream, valueCount: Int, isCompressed: Bool) {
        self.writer = SubtreeChunkWriter(valueCount: valueCount, hasIDs: false)
        self.valueCount = valueCount
        self.compressor = isCompressed ? Zstandard.Compressor() : nil
        self.core = core
        self.token = token
        self.stream = stream
    }

    mutating func append(_ row: SubtreeRow) async throws(NestError) {
        guard row.depth >= 0, row.depth <= self.depth + 1 else {
            throw NestError(.invalid, "row \(self.rowCount + 1) is at depth \(row.depth) after depth \(self.depth)")
        }
        guard row.values.count == self.valueCount else {
            throw NestError(
                .invalid,
                "row \(self.rowCount + 1) has \(row.values.count) values for \(self.valueCount) properties"
            )
        }
        guard row.depth <= Limits.depthMax else {
            throw NestError(.depthLimit, "row \(self.rowCount + 1) is more than \(Limits.depthMax) levels down")
        }
        let bytesMax = Self.bytesMax(row)
        guard bytesMax <= Limits.chunkBytes else {
            throw NestError(.valueTooLarge, "row \(self.rowCount + 1) is larger than \(Limits.chunkBytes) bytes")
        }
        if self.writer.isFull || self.writer.byteCount + bytesMax > Limits.chunkBytes { try await self.flush() }
        self.depth = row.depth
        self.rowCount += 1
        self.writer.append(row)
    }

    mutating func end() async throws(NestError) {
        if self.writer.rowCount > 0 { try await self.flush() }
        // Throws the error of a server that has refused the upload.
        try await self.stream.spend(0)
        await self.core.sendEnd(self.token, SubtreeEnd(rowCount: self.rowCount, checksum: self.checksum.value))
    }

    private mutating func flush() async throws(NestError) {
        let rowCount = self.writer.rowCount
        let chunk = SubtreeChunk(packing: self.writer.take(), rowCount: rowCount, self.compressor).bytes
        self.checksum.add(chunk)
        try await self.stream.spend(chunk.count)
        guard await self.core.sendChunk(self.token, chunk) else {
            throw await self.stream.failure()
        }
    }

    /// Returns an upper bound of a row's bytes, including its share of the chunk's header.
    private static func bytesMax(_ row: SubtreeRow) -> Int {
        row.values.reduce(32) { sum, value in
            switch value {
            case .string(let string): sum + string.utf8.count + 9
            case .data(let bytes): sum + bytes.count + 9
            default: sum + 17
            }
        }
    }
}
