import NIOCore
import NestModel
import NestProtocol

extension Message {
    /// Encodes the message as a whole frame.
    package func frame(id: UInt32, flags: Frame.Flags = []) -> ByteBuffer {
        let body = self.body
        var buffer = ByteBuffer()
        buffer.reserveCapacity(Frame.headerBytes + body.count)
        buffer.writeFrame(type: Self.type, flags: flags, id: id, body: body)
        return buffer
    }

    /// Decodes the message from a frame's body.
    package init(body: ByteBuffer) throws(WireError) {
        do throws(DecodingFailure) {
            self = try body.withUnsafeReadableBytes { bytes throws(DecodingFailure) -> Self in
                var reader = ByteReader(bytes)
                return try Self(from: &reader)
            }
        } catch {
            throw .malformed(error)
        }
    }
}
