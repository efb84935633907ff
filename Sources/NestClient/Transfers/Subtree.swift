import NestModel
import NestProtocol

/// A sub-tree at one revision. It arrives in chunks of rows in preorder.
///
/// The server sends no more than the client has granted: each consumed chunk grants as many bytes. The sequence ends
/// only after the row count and the checksum were verified; an incomplete sub-tree throws.
public struct Subtree: AsyncSequence, Sendable {
    public typealias Element = [SubtreeRow]

    public let revision: Revision
    public let entity: EntityNumber
    public let rowCount: Int
    /// The number of bytes in all chunks, as they are sent.
    public let byteCount: Int
    /// The properties of the rows' values.
    public let properties: [PropertyNumber]

    let stream: TransferStream
    let token: RequestToken
    let core: ClientCore

    init(_ start: SubtreeStart, stream: TransferStream, token: RequestToken, core: ClientCore) {
        self.revision = start.revision
        self.entity = start.entity
        self.rowCount = start.rowCount
        self.byteCount = start.byteCount
        self.properties = start.properties
        self.stream = stream
        self.token = token
        self.core = core
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let subtree: Subtree
        var reader: SubtreeChunkReader
        var checksum = SubtreeChecksum()
        var ungranted = 0
        var isAtEnd = false

        /// Consumed bytes are granted again in steps of this size, instead of one frame a chunk.
        private static let grantBytes = Limits.creditBytesInitial / 4

        public mutating func next() async throws -> [SubtreeRow]? {
            guard !self.isAtEnd else { return nil }
            switch try await self.subtree.stream.nextPiece() {
            case .chunk(let bytes):
                self.checksum.add(bytes)
                let rows = try self.rows(of: bytes)
                self.ungranted += bytes.count
                if self.ungranted >= Self.grantBytes {
                    self.subtree.stream.granted(self.ungranted)
                    let (token, byteCount) = (self.subtree.token, self.ungranted)
                    self.subtree.core.enqueue { $0.grant(token, byteCount: byteCount) }
                    self.ungranted = 0
                }
                return rows
            case .end(let end):
                self.isAtEnd = true
                guard end.rowCount == self.reader.rowCount, end.checksum == self.checksum.value else {
                    throw NestError(.checksum, "the sub-tree was damaged on the way: fetch it again")
                }
                return nil
            }
        }

        private mutating func rows(of bytes: [UInt8]) throws(NestError) -> [SubtreeRow] {
            do throws(DecodingFailure) {
                return try self.reader.rows(of: SubtreeChunk(bytes: bytes).unpacked())
            } catch {
                throw NestError(error.code, error.description)
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(subtree: self, reader: SubtreeChunkReader(valueCount: self.properties.count))
    }
}
