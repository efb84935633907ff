import NIOWebSocket

/// Why a WebSocket ends, as its close frame states it (RFC 6455, section 7.4).
package enum WebSocketCode: UInt16, Sendable {
    case normal = 1000
    case goingAway = 1001
    /// The client broke the rules of WebSocket.
    case violation = 1002
    /// A text message: the protocol's bytes are binary.
    case notBinary = 1003
    /// The reason in a close frame is not UTF-8.
    case notText = 1007
    /// The protocol's last frame has the reason.
    case refused = 1008
    case tooLarge = 1009
    case tryLater = 1013

    /// The code of a frame that swift-nio's decoder has refused.
    package init(refusing error: any Error) {
        if case NIOWebSocketError.invalidFrameLength = error { self = .tooLarge } else { self = .violation }
    }

    /// Whether a client may send this code.
    package static func isValid(_ number: UInt16) -> Bool {
        switch number {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
