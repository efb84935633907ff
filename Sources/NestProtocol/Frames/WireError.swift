import NestModel

/// Bytes that cannot be a frame or a message of this protocol.
package enum WireError: Error, Equatable, Sendable {
    /// The peer does not begin with "NEST".
    case notNest
    case frameTooLarge(bytes: UInt32, max: Int)
    /// Reserved bits or a reserved id are set: the two sides do not agree where frames begin.
    case reservedBits
    case unsupportedFlag(UInt8)
    case unsupportedMessage(UInt8)
    case malformed(DecodingFailure)

    /// Whether the stream of frames is lost, so that the connection must close.
    package var isFatal: Bool {
        switch self {
        case .notNest, .frameTooLarge, .reservedBits: true
        case .unsupportedFlag, .unsupportedMessage, .malformed: false
        }
    }

    /// The one place where a wire failure becomes an error of the protocol.
    package var nestError: NestError {
        switch self {
        case .notNest:
            NestError(.protocolViolation, "the peer does not speak this protocol")
        case .frameTooLarge(let bytes, let max):
            NestError(.frameTooLarge, "a frame of \(bytes) bytes; at most \(max) are allowed here")
        case .reservedBits:
            NestError(.protocolViolation, "reserved bits of a frame header are set")
        case .unsupportedFlag(let flags):
            NestError(.unsupportedFlag, "flags 0x\(String(flags, radix: 16)) are not supported")
        case .unsupportedMessage(let type):
            NestError(.unsupportedMessage, "message type 0x\(String(type, radix: 16)) is not known here")
        case .malformed(let failure):
            NestError(failure.code, failure.description)
        }
    }
}
