import NIOCore
import NIOWebSocket
import NestModel
import NestProtocol

/// Decides how to handle a client's WebSocket frames, by the rules that swift-nio's decoder leaves open.
///
/// The payloads of binary messages are the protocol's byte stream; where a message begins and ends means nothing.
package struct WebSocketRules {
    package enum Action: Equatable {
        case deliver(ByteBuffer)
        /// Answer a ping with its payload.
        case pong(ByteBuffer)
        case ignore
        /// The client ends the connection. Answer with the same code.
        case closed(UInt16)
        /// End the connection with this code.
        case fail(WebSocketCode)
    }

    /// Whether a message has begun and its last frame has not arrived.
    private var isInMessage = false
    private var bytesBeforeWelcome = 0

    package init() {}

    /// `isWelcomed`: whether the client has logged in.
    package mutating func action(for frame: WebSocketFrame, isWelcomed: Bool) -> Action {
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return .fail(.violation) }
        switch frame.opcode {
        case .binary where !self.isInMessage, .continuation where self.isInMessage:
            self.isInMessage = !frame.fin
            return self.data(frame, isWelcomed: isWelcomed)
        case .text where !self.isInMessage: return .fail(.notBinary)
        case .ping: return .pong(frame.unmaskedData)
        case .pong: return .ignore
        case .connectionClose: return Self.close(frame.unmaskedData)
        default: return .fail(.violation)
        }
    }

    private mutating func data(_ frame: WebSocketFrame, isWelcomed: Bool) -> Action {
        if !isWelcomed {
            self.bytesBeforeWelcome += frame.length
            guard self.bytesBeforeWelcome <= Limits.bytesBeforeHelloMax else { return .fail(.tooLarge) }
        }
        return frame.length > 0 ? .deliver(frame.unmaskedData) : .ignore
    }

    private static func close(_ payload: ByteBuffer) -> Action {
        var payload = payload
        guard payload.readableBytes > 0 else { return .closed(WebSocketCode.normal.rawValue) }
        guard let code = payload.readInteger(as: UInt16.self), WebSocketCode.isValid(code) else {
            return .fail(.violation)
        }
        let isText = String(validating: payload.readableBytesView, as: UTF8.self) != nil
        return isText ? .closed(code) : .fail(.notText)
    }
}
