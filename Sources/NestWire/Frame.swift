import NIOCore
import NestModel

/// One frame: a fixed header of 12 bytes, then the body.
///
///     0  u32  bytes of the body
///     4  u8   message type; 0x80 and up may be ignored by who does not know it
///     5  u8   flags: low four bits must be understood, high four may be ignored
///     6  u16  0
///     8  u32  request id, view id, or 0
package struct Frame: Equatable, Sendable {
    package static let headerBytes = 12

    package var type: UInt8
    package var flags: Flags
    package var id: UInt32
    package var body: ByteBuffer

    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The message goes on in the next frame of its kind and id.
        package static let more = Flags(rawValue: 0x01)
        /// The body is one Zstandard frame. See CompressedFrame.swift.
        package static let compressed = Flags(rawValue: 0x02)
    }

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
