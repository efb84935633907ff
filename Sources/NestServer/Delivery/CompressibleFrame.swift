import NIOConcurrencyHelpers
import NIOCore
import NestProtocol
import NestModel
import NestFraming

/// A large frame, compressed for clients that support it and plain for others. Each form is made at most once, by the
/// first event loop that sends it.
package final class CompressibleFrame: Sendable {
    private let type: MessageType
    private let flags: Frame.Flags
    private let id: UInt32
    private let body: SharedBytes
    private let buffers = NIOLockedValueBox<(compressed: ByteBuffer?, plain: ByteBuffer?)>((nil, nil))

    package init(type: MessageType, flags: Frame.Flags, id: UInt32, body: SharedBytes) {
        precondition(type.mayBeCompressed, "frames of type \(type) are never compressed")
        self.type = type
        self.flags = flags
        self.id = id
        self.body = body
    }

    /// The size of the frame without compression.
    package var byteCount: Int { Frame.headerBytes + self.body.bytes.count }

    /// Returns the whole frame. `compressor`: `nil` when the receiver does not support compressed frames. The first
    /// call takes some milliseconds of compressing for each megabyte.
    package func buffer(_ compressor: Zstandard.Compressor?) -> ByteBuffer {
        self.buffers.withLockedValue { buffers in
            if let compressor {
                if let buffer = buffers.compressed { return buffer }
                if let bytes = self.body.compressed(by: compressor) {
                    let buffer = self.framed(bytes, self.flags.union(.compressed))
                    buffers.compressed = buffer
                    return buffer
                }
            }
            if let buffer = buffers.plain { return buffer }
            let buffer = self.framed(self.body.bytes, self.flags)
            buffers.plain = buffer
            return buffer
        }
    }

    private func framed(_ body: [UInt8], _ flags: Frame.Flags) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(Frame.headerBytes + body.count)
        buffer.writeFrame(type: self.type, flags: flags, id: self.id, body: body)
        return buffer
    }
}
