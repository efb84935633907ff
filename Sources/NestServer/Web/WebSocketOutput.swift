import NIOCore

/// The frames that the server sends. They are not masked, so the bytes of a payload go out as they are, and connections
/// share them.
package struct WebSocketOutput {
    private static let binary: UInt8 = 0x82
    private static let close: UInt8 = 0x88
    private static let pong: UInt8 = 0x8a
    /// Up to so many bytes, a payload is copied behind its header, once for all connections of the event loop that send
    /// it one after the other: writing one buffer costs less than writing two.
    package static let copiedBytesMax = 2 << 10

    /// The last small payload, and its frame.
    private var last: (payload: ByteBuffer, frame: ByteBuffer)?
    /// The last header of a larger payload.
    private var lastHeader = (count: -1, header: ByteBuffer())

    package init() {}

    /// Returns the buffers of a whole binary message, in their order: one, or the header and the payload.
    package mutating func message(_ payload: ByteBuffer) -> (first: ByteBuffer, second: ByteBuffer?) {
        let count = payload.readableBytes
        guard count <= Self.copiedBytesMax else {
            if count != self.lastHeader.count { self.lastHeader = (count, Self.header(Self.binary, count)) }
            return (self.lastHeader.header, payload)
        }
        if let last = self.last, last.payload == payload { return (last.frame, nil) }
        var frame = Self.header(Self.binary, count, capacity: count)
        frame.writeImmutableBuffer(payload)
        self.last = (payload, frame)
        return (frame, nil)
    }

    package static func pong(_ payload: ByteBuffer) -> ByteBuffer {
        var frame = Self.header(Self.pong, payload.readableBytes)
        frame.writeImmutableBuffer(payload)
        return frame
    }

    package static func close(_ code: UInt16) -> ByteBuffer {
        var frame = Self.header(Self.close, 2)
        frame.writeInteger(code)
        return frame
    }

    /// `capacity`: the bytes that will follow.
    private static func header(_ first: UInt8, _ count: Int, capacity: Int = 0) -> ByteBuffer {
        var header = ByteBuffer()
        header.reserveCapacity(10 + capacity)
        header.writeInteger(first)
        switch count {
        case ...125: header.writeInteger(UInt8(count))
        case ...0xffff: header.writeMultipleIntegers(126 as UInt8, UInt16(count))
        default: header.writeMultipleIntegers(127 as UInt8, UInt64(count))
        }
        return header
    }
}
