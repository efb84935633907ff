import NestModel

/// Why received bytes are not a frame or message of this protocol.
package enum WireError: Error, Equatable, Sendable {
    /// The peer's first bytes are not "NEST".
    case notNest
    case frameTooLarge(bytes: UInt32, max: Int)
    /// Reserved bits or a reserved id are set: the two sides disagree about where frames begin.
    case reservedBits
    case unsupportedFlag(UInt8)
    case unsupportedMessage(UInt8)
    case malformed(DecodingFailure)

    /// Whether frames can no longer be separated, so that the connection must be closed.
    package var isFatal: Bool {
        switch self {
        case .notNest, .frameTooLarge, .reservedBits: true
        case .unsupportedFlag, .unsupportedMessage, .malformed: false
        }
    }

    /// The error of the protocol for this failure. No other code converts wire errors.
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
