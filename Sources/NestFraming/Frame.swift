import NIOCore
import NestModel
import NestProtocol

/// One frame in NIO's buffers: the header (`FrameHeader`), then the body.
package struct Frame: Equatable, Sendable {
    package static let headerBytes = FrameHeader.byteCount

    package var type: UInt8
    package var flags: Flags
    package var id: UInt32
    package var body: ByteBuffer

    package typealias Flags = FrameFlags

    package init(type: UInt8, flags: Flags = [], id: UInt32, body: ByteBuffer = ByteBuffer()) {
        self.type = type
        self.flags = flags
        self.id = id
        self.body = body
    }

    /// Header and body.
    package var byteCount: Int { Self.headerBytes + self.body.readableBytes }

    /// Whether a receiver that does not know the type skips it.
    package var isIgnorable: Bool { self.type >= 0x80 }
}

/// Cuts a stream of bytes into frames. Judges the length from the header, before the bytes are awaited.
package struct FrameDecoder: Sendable {
    /// Small until the handshake is done.
    package var bodyBytesMax: Int

    package init(bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
    }

    /// How many bytes the frame has, header included, that begins with these; of a header alone while that is not there.
    package func awaitedBytes(_ buffer: ByteBuffer) -> Int {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return Frame.headerBytes }
        return Frame.headerBytes + min(Int(length), self.bodyBytesMax)
    }

    /// The next frame, or `nil` while its bytes are missing.
    package func next(from buffer: inout ByteBuffer) throws(WireError) -> Frame? {
        guard
            let (length, type, flags, reserved, id) = buffer.peekMultipleIntegers(
                as: (UInt32, UInt8, UInt8, UInt16, UInt32).self
            )
        else { return nil }
        guard Int(length) <= self.bodyBytesMax else { throw .frameTooLarge(bytes: length, max: self.bodyBytesMax) }
        guard reserved == 0 else { throw .reservedBits }
        guard buffer.readableBytes >= Frame.headerBytes + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: Frame.headerBytes)
        // The guard above has seen so many bytes.
        let body = buffer.readSlice(length: Int(length))!
        return Frame(type: type, flags: Frame.Flags(rawValue: flags), id: id, body: body)
    }
}

extension ByteBuffer {
    /// Writes a whole frame.
    package mutating func writeFrame(type: MessageType, flags: Frame.Flags = [], id: UInt32, body: [UInt8]) {
        self.writeMultipleIntegers(UInt32(body.count), type.rawValue, flags.rawValue, UInt16(0), id)
        self.writeBytes(body)
    }
}
