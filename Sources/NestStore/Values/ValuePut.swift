import NestModel
import NestProtocol

/// A part of a large value, as the store writes it in one commit.
struct ValuePart {
    let row: ValueTable.Row
    /// The number of its first piece.
    let first: Int
    let isLast: Bool
    let pieces: [[UInt8]]

    var note: LogNote { .value(self.row, first: self.first, isLast: self.isLast) }
}

/// A large value that the store takes in parts of `Limits.valuePartBytes`, so that the commits of others come between
/// them. Until the last part is written nothing can set the value. Not Sendable: it belongs to the store's writer.
package final class ValuePut {
    package let staged: StagedValue
    let session: UInt64
    private var row: ValueTable.Row?
    private var verifier: ValueVerifier?
    /// What is written.
    private var pieceCount = 0
    /// Where the next part begins in the spool file.
    private var offset = 0
    /// The part whose commit is under way, and where it ends.
    private var open: (part: ValuePart, end: Int)?

    private let piecesPerPart: Int

    /// `piecesPerPart`: for tests.
    package init(
        _ staged: StagedValue,
        of session: UInt64,
        piecesPerPart: Int = Limits.valuePartBytes / Limits.largeValuePieceBytes
    ) {
        self.staged = staged
        self.session = session
        self.piecesPerPart = piecesPerPart
        self.verifier = ValueVerifier(staged.type)
    }

    /// The bytes of the next part, at most.
    package var partBytes: Int {
        min(self.piecesPerPart, self.staged.chunks.chunkCount - self.pieceCount) * Limits.largeValuePieceBytes
    }

    /// The value's number if parts of it are written.
    var writtenID: Int64? { self.pieceCount > 0 ? self.row?.value.id : nil }

    /// Reads the next part. `id`: makes the number of the value, once. `staged`: when it is.
    func next(id: () throws(StoreError) -> Int64, staged: Int64) throws(StoreError) -> ValuePart {
        if self.row == nil {
            let value = LargeValue(id: try id(), length: self.staged.length, digest: self.staged.digest)
            self.row = ValueTable.Row(session: self.session, type: self.staged.type, value: value, staged: staged)
        }
        guard let row = self.row else { preconditionFailure("set above") }
        var pieces: [[UInt8]] = []
        var end = self.offset
        while pieces.count < self.piecesPerPart, let (piece, next) = try self.staged.chunks.chunk(at: end) {
            self.verifier?.add(piece)
            pieces.append(piece)
            end = next
        }
        let isLast = self.pieceCount + pieces.count == self.staged.chunks.chunkCount
        let part = ValuePart(row: row, first: self.pieceCount, isLast: isLast, pieces: pieces)
        self.open = (part, end)
        return part
    }

    /// Returns what is wrong with the whole value, or `nil`. Call it once, after the last part was read.
    func fault() -> NestError? {
        self.verifier.take()?.fault(length: self.staged.length, digest: self.staged.digest)
    }

    /// Notes that the last part that was read is durable. Returns the value if it is complete.
    package func settle() -> LargeValue? {
        guard let (part, end) = self.open else { preconditionFailure("a part was written") }
        self.open = nil
        self.offset = end
        self.pieceCount += part.pieces.count
        return part.isLast ? part.row.value : nil
    }
}
