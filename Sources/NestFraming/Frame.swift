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

    /// The size of header and body.
    package var byteCount: Int { Self.headerBytes + self.body.readableBytes }

    /// Whether a receiver that does not know the type skips it.
    package var isIgnorable: Bool { self.type >= 0x80 }
}

/// Splits a stream of bytes into frames. Checks the length in the header before it waits for the body.
package struct FrameDecoder: Sendable {
    /// The limit is small until the handshake is complete.
    package var bodyBytesMax: Int

    package init(bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
    }

    /// Returns the size of the frame that begins with these bytes, header included; the size of a header if the header
    /// is incomplete.
    package func awaitedBytes(_ buffer: ByteBuffer) -> Int {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return Frame.headerBytes }
        return Frame.headerBytes + min(Int(length), self.bodyBytesMax)
    }

    /// Returns the next frame, or `nil` while it is incomplete.
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
        // The guard above checked the size.
        let body = buffer.readSlice(length: Int(length))!
        return Frame(type: type, flags: Frame.Flags(rawValue: flags), id: id, body: body)
    }
}

extension ByteBuffer {
    /// Writes a whole frame, in one access to the buffer.
    package mutating func writeFrame(type: MessageType, flags: Frame.Flags = [], id: UInt32, body: [UInt8]) {
        let byteCount = Frame.headerBytes + body.count
        self.writeWithUnsafeMutableBytes(minimumWritableBytes: byteCount) { target in
            target.storeBytes(of: UInt32(body.count).bigEndian, as: UInt32.self)
            target[4] = type.rawValue
            target[5] = flags.rawValue
            target.storeBytes(of: 0, toByteOffset: 6, as: UInt16.self)
            target.storeBytes(of: id.bigEndian, toByteOffset: 8, as: UInt32.self)
            UnsafeMutableRawBufferPointer(rebasing: target[Frame.headerBytes...]).copyBytes(from: body)
            return byteCount
        }
    }
}
