import NestModel
import NestStore
import NestProtocol

/// Checks the chunks of an upload and writes them to its spool file. It is passed to a thread that may block and back:
/// only one thread has it at a time.
package struct UploadStage: Sendable {
    private let directory: String
    private let reservation: SpoolReservation
    private let rowsMax: Int
    private var reader: SubtreeChunkReader
    private var checksum = SubtreeChecksum()
    private var rowsChecksum = SubtreeRowsChecksum()
    private var chunks: SpooledChunks?
    /// `nil` for an import.
    private var value: ValuePieces?

    /// `rowsMax`: the maximum number of rows, because very many rows can have few bytes.
    package init(
        _ request: SubtreeImport,
        directory: String,
        reservation: SpoolReservation,
        rowsMax: Int = Limits.importRowsMax
    ) {
        self.rowsMax = rowsMax
        self.directory = directory
        self.reservation = reservation
        self.reader = SubtreeChunkReader(valueCount: request.properties.count)
    }

    /// A stage for a large value: it keeps pieces of one size instead of the chunks.
    package init(_ request: PutValue, directory: String, reservation: SpoolReservation) {
        self.rowsMax = 0
        self.directory = directory
        self.reservation = reservation
        self.reader = SubtreeChunkReader(valueCount: 0)
        self.value = ValuePieces(request)
    }

    /// Unpacks and checks chunks, in order, and appends them to the spool file. Blocks.
    package mutating func append(_ bodies: [[UInt8]]) throws(NestError) {
        for body in bodies {
            self.checksum.add(body)
            if let pieces = try self.value?.pieces(of: body) {
                for piece in pieces { try self.spool(piece) }
            } else {
                try self.spool(try self.checked(body))
            }
        }
    }

    private mutating func spool(_ chunk: [UInt8]) throws(NestError) {
        try self.reservation.take(chunk.count)
        do throws(StoreError) {
            if self.chunks == nil {
                self.chunks = try SpooledChunks(directory: self.directory, heldBy: self.reservation)
            }
            try self.chunks?.append(chunk)
        } catch {
            throw error.nestError
        }
    }

    private mutating func checked(_ body: [UInt8]) throws(NestError) -> [UInt8] {
        let chunk: [UInt8]
        let rows: SubtreeColumns
        do throws(DecodingFailure) {
            chunk = try SubtreeChunk(bytes: body).unpacked()
            rows = try self.reader.columns(of: chunk)
        } catch {
            throw NestError(error.code, error.description)
        }
        guard rows.rowCount <= Limits.chunkRowsPerByteMax * body.count else {
            throw NestError(
                .limitExceeded,
                "a chunk of \(body.count) bytes has \(rows.rowCount) rows; at most \(Limits.chunkRowsPerByteMax) rows "
                    + "for each byte are accepted: send it uncompressed"
            )
        }
        guard self.reader.rowCount <= self.rowsMax else {
            throw NestError(
                .limitExceeded,
                "an import may have at most \(self.rowsMax) rows: import it in parts"
            )
        }
        guard rows.ids.isEmpty else {
            throw NestError(.invalid, "an import must not contain ids: the server assigns them")
        }
        self.rowsChecksum.add(rows)
        return chunk
    }

    /// Returns the whole value. Throws if it does not match the length and checksum of the stream's end. The store
    /// checks its digest.
    package func finish(_ request: PutValue, length: Int, checksum: UInt64) throws(NestError) -> StagedValue {
        guard let value = self.value, value.length == request.length, length == request.length else {
            throw NestError(
                .checksum,
                "the value has \(self.value?.length ?? 0) bytes, its end states \(length), and PUT_VALUE "
                    + "\(request.length)"
            )
        }
        guard checksum == self.checksum.value else {
            throw NestError(.checksum, "the value's checksum differs from the one in its end")
        }
        do throws(StoreError) {
            // A value without bytes has no chunks.
            let chunks = if let chunks = self.chunks { chunks } else { try SpooledChunks(directory: self.directory) }
            return StagedValue(
                type: request.valueType,
                length: request.length,
                digest: request.digest,
                chunks: chunks
            )
        } catch {
            throw error.nestError
        }
    }

    /// Returns the whole upload. Throws if it does not match the row count and checksum of the stream's end.
    package func finish(_ request: SubtreeImport, rowCount: Int, checksum: UInt64) throws(NestError) -> StagedSubtree {
        guard let chunks = self.chunks, self.reader.rowCount > 0 else {
            throw NestError(.invalid, "the import has no rows")
        }
        guard rowCount == self.reader.rowCount else {
            throw NestError(.checksum, "the import has \(self.reader.rowCount) rows, but its end states \(rowCount)")
        }
        guard checksum == self.checksum.value else {
            throw NestError(.checksum, "the import's checksum differs from the one in its end")
        }
        return StagedSubtree(
            request: request,
            chunks: chunks,
            rowCount: rowCount,
            topCount: self.reader.topCount,
            checksum: self.rowsChecksum.value
        )
    }
}
