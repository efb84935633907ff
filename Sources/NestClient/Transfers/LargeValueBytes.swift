import NestModel
import NestProtocol
import NestSecrets

/// The bytes of a large value, from an offset on. They arrive in parts.
///
/// The sequence ends only after the number of bytes and the checksum were verified, and the digest if it begins at 0;
/// an incomplete value throws. The server sends no more than the client has granted, so a part is in memory at a time.
public struct LargeValueBytes: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    /// What the row has: the length of the whole value, and its digest.
    public let value: LargeValue
    public let type: AttributeType
    /// The revision at which the object had the value.
    public let revision: Revision
    public let offset: Int

    let stream: TransferStream
    let token: RequestToken
    let core: ClientCore

    init(_ start: ValueMessage, from offset: Int, stream: TransferStream, token: RequestToken, core: ClientCore) {
        self.value = start.value
        self.type = start.valueType
        self.revision = start.revision
        self.offset = offset
        self.stream = stream
        self.token = token
        self.core = core
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let bytes: LargeValueBytes
        var checksum = SubtreeChecksum()
        var hash = RunningSHA256()
        var received = 0
        var isAtEnd = false

        public mutating func next() async throws -> [UInt8]? {
            guard !self.isAtEnd else { return nil }
            switch try await self.bytes.stream.nextPiece() {
            case .chunk(let body):
                self.checksum.add(body)
                let bytes = try self.unpacked(body)
                self.received += bytes.count
                if self.bytes.offset == 0 { self.hash.update(bytes) }
                self.bytes.stream.granted(body.count)
                let (token, byteCount) = (self.bytes.token, body.count)
                self.bytes.core.enqueue { $0.grant(token, byteCount: byteCount) }
                return bytes
            case .end(let end):
                self.isAtEnd = true
                guard end.rowCount == self.received, self.bytes.offset + self.received == self.bytes.value.length,
                    end.checksum == self.checksum.value,
                    self.bytes.offset > 0 || self.hash.digest == self.bytes.value.digest
                else { throw NestError(.checksum, "the value was damaged on the way: request it again") }
                return nil
            }
        }

        private func unpacked(_ body: [UInt8]) throws(NestError) -> [UInt8] {
            do throws(DecodingFailure) {
                return try SubtreeChunk(bytes: body).unpacked()
            } catch {
                throw NestError(error.code, error.description)
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: self) }
}
