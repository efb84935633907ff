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

/// Decides the next step of one FETCH_SUBTREE, GET_VALUE or BACKUP.
///
///     reading (the sub-tree or store, into a spool file) ──opened──▶ sending ──all chunks sent──▶ (removed)
///         any ──failure, CANCEL──▶ (removed)
///
/// While sending it keeps at most one chunk in memory, which waits for credit and for the socket.
package struct Download: Sendable {
    package enum Action {
        case none
        /// Have a thread that may block read the chunk at this offset, then call `read`.
        case read(SpooledChunks, offset: Int)
        case send(chunk: [UInt8], of: Content)
        case end(Content)
    }

    /// The content to send, and the values of its end frame.
    package struct Content: Sendable {
        package enum Kind: Sendable {
            case subtree
            case backup
            case value
        }

        package let kind: Kind
        package let chunks: SpooledChunks
        /// The number of rows of a sub-tree, or of bytes of a file or of a value from its offset on.
        package let count: Int
        package let checksum: UInt64

        package init(_ export: SubtreeExport) {
            self.kind = .subtree
            self.chunks = export.chunks
            self.count = export.rowCount
            self.checksum = export.checksum
        }

        package init(_ export: ValueExport) {
            self.kind = .value
            self.chunks = export.chunks
            self.count = export.byteCount
            self.checksum = export.checksum
        }

        package init(_ backup: StoreBackup) {
            self.kind = .backup
            self.chunks = backup.chunks
            self.count = backup.fileBytes
            self.checksum = backup.checksum
        }
    }

    /// Set by `cancel`; the thread that reads the sub-tree or store checks it.
    package let isCancelled = NIOLockedValueBox(false)
    /// The download's share of the spool budget.
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

    /// Makes the thread that reads for the download stop soon.
    package func cancel() { self.isCancelled.withLockedValue { $0 = true } }

    package mutating func opened(_ content: Content) { self.content = content }

    package mutating func granted(_ bytes: Int) {
        self.credit = min(Limits.creditBytesMax, self.credit + min(bytes, Limits.creditBytesMax))
    }

    /// Takes the chunk that was read; `nil` when there is none at the requested offset.
    package mutating func read(_ chunk: SpooledChunk?) {
        self.isReading = false
        if let chunk {
            self.next = chunk
        } else {
            self.isAtEnd = true
        }
    }

    /// Returns what to do now. Call it again after `send`.
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
