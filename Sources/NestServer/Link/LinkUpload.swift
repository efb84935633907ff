import NestModel
import NestProtocol
import NestStore

/// Decides the next step of an import, or of a large value, that a node forwards: its chunks go from the spool file to
/// the leader, one chunk at a time, as credit allows.
struct LinkUpload: Sendable {
    /// A chunk, and the offset of the next one in the spool file.
    struct Chunk: Sendable {
        let message: SubtreeChunk
        let next: Int
    }

    enum Action: Sendable {
        case none
        /// Have a thread that may block read a chunk, then call `read`.
        case read(SpooledChunks, offset: Int)
        case send(SubtreeChunk)
        /// All chunks are sent.
        case end(SubtreeEnd)
    }

    private let chunks: SpooledChunks
    /// The rows of an import, or the bytes of a value.
    private let count: Int
    /// Bytes that the leader still accepts.
    private var credit: Int
    private var offset = 0
    private var isReading = false
    private var waiting: SubtreeChunk?
    private var checksum = SubtreeChecksum()
    private var hasRead = false
    private var hasEnded = false

    init(_ staged: StagedSubtree, credit: Int) {
        self.init(staged.chunks, count: staged.rowCount, credit: credit)
    }

    init(_ staged: StagedValue, credit: Int) {
        self.init(staged.chunks, count: staged.length, credit: credit)
    }

    private init(_ chunks: SpooledChunks, count: Int, credit: Int) {
        self.chunks = chunks
        self.count = count
        self.credit = credit
    }

    mutating func granted(_ byteCount: Int) {
        let (sum, overflow) = self.credit.addingReportingOverflow(byteCount)
        self.credit = overflow ? .max : sum
    }

    /// Takes the next chunk; `nil`: there are no more.
    mutating func read(_ chunk: Chunk?) {
        self.isReading = false
        guard let chunk else { return self.hasRead = true }
        self.waiting = chunk.message
        self.offset = chunk.next
    }

    /// Call until it returns `none`.
    mutating func next() -> Action {
        if let chunk = self.waiting {
            guard chunk.bytes.count <= self.credit else { return .none }
            self.credit -= chunk.bytes.count
            self.checksum.add(chunk.bytes)
            self.waiting = nil
            return .send(chunk)
        }
        guard !self.hasEnded, !self.isReading else { return .none }
        guard self.hasRead else {
            self.isReading = true
            return .read(self.chunks, offset: self.offset)
        }
        self.hasEnded = true
        return .end(SubtreeEnd(rowCount: self.count, checksum: self.checksum.value))
    }

    /// Reads a chunk of a spool file for the leader; `nil`: there is none at the offset. Blocks.
    static func chunk(of chunks: SpooledChunks, at offset: Int) throws(NestError) -> Chunk? {
        do throws(StoreError) {
            guard let (bytes, next) = try chunks.chunk(at: offset) else { return nil }
            // Compression would take longer than it saves between nodes; only the largest chunk needs it to fit.
            let plain = SubtreeChunk(packing: bytes, nil)
            guard plain.bytes.count > Limits.frameBytesMax else { return Chunk(message: plain, next: next) }
            let packed = SubtreeChunk(packing: bytes, Zstandard.Compressor())
            guard packed.bytes.count <= Limits.frameBytesMax else {
                throw .refused(NestError(.valueTooLarge, "a chunk is too large to be forwarded: send smaller ones"))
            }
            return Chunk(message: packed, next: next)
        } catch {
            throw error.nestError
        }
    }
}
