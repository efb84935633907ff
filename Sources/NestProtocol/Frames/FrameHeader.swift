/// The fixed header of every frame.
///
///     0  u32  bytes of the body
///     4  u8   message type; a receiver skips a frame of an unknown type from 0x80 on
///     5  u8   flags: low four bits must be understood, high four may be ignored
///     6  u16  0
///     8  u32  request id, view id, or 0
package enum FrameHeader {
    package static let byteCount = 12
}

package struct FrameFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Replaces the standard library's, whose generic code takes longer than the rest of a header.
    @inlinable
    package init(arrayLiteral flags: FrameFlags...) {
        self.init(rawValue: flags.reduce(0) { $0 | $1.rawValue })
    }

    /// The message continues in the next frame of its type and id.
    package static let more = FrameFlags(rawValue: 0x01)
    /// The body is one Zstandard frame.
    package static let compressed = FrameFlags(rawValue: 0x02)
}
