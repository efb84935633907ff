import NIOCore
import NestProtocol
import NestModel
import NestFraming

/// A copy of a server's whole store as it was at one revision, arriving as the bytes of a file, in order.
///
/// The sequence ends only after the size and checksum of what was sent have been compared; a copy that is cut short throws.
/// The server sends no more than the client has room for. A `nestd` that is given the file begins a new history with it.
public struct Backup: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    public let revision: Revision
    /// The history that it is a copy of.
    public let historyID: Identifier128
    /// Bytes of the file.
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
                else { throw NestError(.checksum, "the backup did not arrive as it was sent; ask for it again") }
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
