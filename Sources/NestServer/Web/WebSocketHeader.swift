import NIOCore

/// The header of a WebSocket frame (RFC 6455, section 5.2).
struct WebSocketHeader {
    static let continuation: UInt8 = 0
    static let text: UInt8 = 1
    static let binary: UInt8 = 2
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10

    private let first: UInt8
    /// The bytes of the payload.
    let length: UInt64
    /// The bytes with which the payload is masked, the first one in the highest bits; `nil`: it is not.
    let mask: UInt32?

    var fin: Bool { self.first & 0x80 != 0 }
    var hasReservedBits: Bool { self.first & 0x70 != 0 }
    var opcode: UInt8 { self.first & 0x0f }
    var isControl: Bool { self.opcode & 0x08 != 0 }

    /// Takes a header from `buffer`. Returns `nil` while it is incomplete.
    static func read(from buffer: inout ByteBuffer) -> WebSocketHeader? {
        var rest = buffer
        guard let (first, second) = rest.readMultipleIntegers(as: (UInt8, UInt8).self) else { return nil }
        let count: UInt64?
        switch second & 0x7f {
        case 126: count = rest.readInteger(as: UInt16.self).map(UInt64.init)
        case 127: count = rest.readInteger(as: UInt64.self)
        case let short: count = UInt64(short)
        }
        guard let length = count else { return nil }
        let mask = second & 0x80 != 0 ? rest.readInteger(as: UInt32.self) : nil
        guard second & 0x80 == 0 || mask != nil else { return nil }
        buffer.moveReaderIndex(to: rest.readerIndex)
        return WebSocketHeader(first: first, length: length, mask: mask)
    }

    /// Returns bytes of the payload as they were before masking. `position`: where in the payload they begin.
    func unmasked(_ bytes: ByteBuffer, from position: Int) -> ByteBuffer {
        guard let mask, mask != 0 else { return bytes }
        var bytes = bytes
        bytes.withUnsafeMutableReadableBytes { bytes in
            for index in bytes.indices {
                let shift = UInt32(24 - 8 * ((position + index) & 3))
                bytes[index] ^= UInt8(truncatingIfNeeded: mask >> shift)
            }
        }
        return bytes
    }
}
