import NIOConcurrencyHelpers
import NestModel
import NestStore
import NestProtocol

/// A chunk of a spool file, and the offset of the one after it.
package struct SpooledChunk: Sendable {
    package let bytes: [UInt8]
    package let next: Int

    package init(bytes: [UInt8], next: Int) {
        self.bytes = bytes
        self.next = next
    }
}

/// Decides how one FETCH_SUBTREE or BACKUP goes on.
///
///     reading (the sub-tree or store, into a spool file) ──opened──▶ sending ──all chunks out──▶ (gone)
///         any ──failure, CANCEL──▶ (gone)
///
/// While sending it keeps at most one chunk in memory, which waits for credit and for the socket.
package struct Download: Sendable {
    package enum Action {
        case none
        /// Have a thread that may block read the chunk at this offset, and come back with `read`.
        case read(SpooledChunks, offset: Int)
        case send(chunk: [UInt8], of: Content)
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

        package init(_ export: SubtreeExport) {
            self.kind = .subtree
            self.chunks = export.chunks
            self.count = export.rowCount
            self.checksum = export.checksum
        }

        package init(_ backup: StoreBackup) {
            self.kind = .backup
            self.chunks = backup.chunks
            self.count = backup.fileBytes
            self.checksum = backup.checksum
        }
    }

    /// The thread that reads the sub-tree or store asks this.
    package let isCancelled = NIOLockedValueBox(false)
    /// Keeps its share of the spool budget.
    package let reservation: SpoolReservation
    private var content: Content?
    private var credit = Limits.creditBytesInitial
    private var next: SpooledChunk?
    private var offset = 0
    private var isReading = false
    private var isAtEnd = false

    package init(reservation: SpoolReservation) {
        self.reservation = reservation
    }

    /// Has the thread that reads for it stop soon.
    package func cancel() { self.isCancelled.withLockedValue { $0 = true } }

    package mutating func opened(_ content: Content) { self.content = content }

    package mutating func granted(_ bytes: Int) {
        self.credit = min(Limits.creditBytesMax, self.credit + min(bytes, Limits.creditBytesMax))
    }

    /// The chunk has been read; `nil` when there is none at the offset asked for.
    package mutating func read(_ chunk: SpooledChunk?) {
        self.isReading = false
        if let chunk {
            self.next = chunk
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
        guard isWritable, next.bytes.count <= self.credit else { return .none }
        self.credit -= next.bytes.count
        self.offset = next.next
        self.next = nil
        return .send(chunk: next.bytes, of: content)
    }
}
