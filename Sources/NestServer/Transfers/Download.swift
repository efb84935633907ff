import NIOConcurrencyHelpers
import NestModel
import NestStore
import NestProtocol

/// Decides how one FETCH_SUBTREE or BACKUP goes on.
///
///     reading (the sub-tree or store, into a spool file) ──opened──▶ sending ──all chunks out──▶ (gone)
///         any ──failure, CANCEL──▶ (gone)
///
/// While sending at most one chunk is in memory; it waits for credit and for the socket.
package struct Download: Sendable {
    package enum Action {
        case none
        /// Let a thread that may block read the chunk at this offset, and come back with `read`.
        case read(SpooledChunks, offset: Int)
        case send(chunk: [UInt8])
        case end(Content)
    }

    /// What is sent, and what its end says.
    package struct Content: Sendable {
        package enum Kind: Sendable {
            case subtree
            case backup
        }

        package let kind: Kind
        package let chunks: SpooledChunks
        /// Rows of a sub-tree, bytes of a file.
        package let count: Int
        package let checksum: UInt64
    }

    /// Asked by the thread that reads the sub-tree.
    package let isCancelled = NIOLockedValueBox(false)
    /// Keeps its share of the spool budget.
    package let reservation: SpoolReservation
    package private(set) var content: Content?
    private var credit = Limits.creditBytesInitial
    /// The next chunk, and where the one after it begins.
    private var next: (chunk: [UInt8], offset: Int)?
    private var offset = 0
    private var isReading = false
    private var isAtEnd = false

    package init(reservation: SpoolReservation) {
        self.reservation = reservation
    }

    package mutating func opened(_ export: SubtreeExport) {
        self.content = Content(
            kind: .subtree,
            chunks: export.chunks,
            count: export.rowCount,
            checksum: export.checksum
        )
    }

    package mutating func opened(_ backup: StoreBackup) {
        self.content = Content(
            kind: .backup,
            chunks: backup.chunks,
            count: backup.fileBytes,
            checksum: backup.checksum
        )
    }

    package mutating func granted(_ bytes: Int) {
        self.credit = min(Limits.creditBytesMax, self.credit + min(bytes, Limits.creditBytesMax))
    }

    /// A chunk is there; `nil` when there is none at the offset asked for.
    package mutating func read(_ chunk: (chunk: [UInt8], next: Int)?) {
        self.isReading = false
        if let chunk {
            self.next = (chunk.chunk, chunk.next)
        } else {
            self.isAtEnd = true
        }
    }

    /// What to do now; call it again after `send`.
    package mutating func proceed(isWritable: Bool) -> Action {
        guard let content = self.content, !self.isReading else { return .none }
        if self.isAtEnd { return .end(content) }
        guard let next = self.next else {
            self.isReading = true
            return .read(content.chunks, offset: self.offset)
        }
        guard isWritable, next.chunk.count <= self.credit else { return .none }
        self.credit -= next.chunk.count
        self.offset = next.offset
        self.next = nil
        return .send(chunk: next.chunk)
    }
}
