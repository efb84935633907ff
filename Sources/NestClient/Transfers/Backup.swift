import NIOCore
import NestProtocol
import NestModel
import NestFraming

/// A copy of a server's whole store at one revision. It arrives as the bytes of a file, in order.
///
/// The sequence ends only after the size and the checksum were verified; an incomplete copy throws. The server sends no
/// more than the client has granted. A `nestd` that serves the file begins a new history.
public struct Backup: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    public let revision: Revision
    /// The history of the copied store.
    public let historyID: Identifier128
    /// The number of bytes in the file.
    public let byteCount: Int

    let stream: TransferStream
    let token: RequestToken
    let core: ClientCore

    init(_ start: BackupStart, stream: TransferStream, token: RequestToken, core: ClientCore) {
        self.revision = start.revision
        self.historyID = start.historyID
        self.byteCount = start.fileBytes
        self.stream = stream
        self.token = token
        self.core = core
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let backup: Backup
        var checksum = SubtreeChecksum()
        var received = 0
        var isAtEnd = false

        public mutating func next() async throws -> [UInt8]? {
            guard !self.isAtEnd else { return nil }
            switch try await self.backup.stream.nextPiece() {
            case .chunk(let body):
                let bytes = try self.bytes(of: body)
                self.checksum.add(bytes)
                self.received += bytes.count
                self.backup.stream.granted(body.count)
                let (token, byteCount) = (self.backup.token, body.count)
                self.backup.core.enqueue { $0.grant(token, byteCount: byteCount) }
                return bytes
            case .end(let end):
                self.isAtEnd = true
                guard end.rowCount == self.received, self.backup.byteCount == self.received,
                    end.checksum == self.checksum.value
                else { throw NestError(.checksum, "the backup was damaged on the way: request it again") }
                return nil
            }
        }

        private func bytes(of body: [UInt8]) throws(NestError) -> [UInt8] {
            let chunk: BackupChunk
            do throws(WireError) {
                chunk = try BackupChunk(body: ByteBuffer(bytes: body))
            } catch {
                throw error.nestError
            }
            guard chunk.offset == self.received,
                let bytes = try? PackedBytes.unpack(chunk.packed, sizeMax: Limits.chunkUnpackedBytesMax)
            else { throw NestError(.malformed, "a part of the backup is missing or damaged") }
            return bytes
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(backup: self)
    }
}
