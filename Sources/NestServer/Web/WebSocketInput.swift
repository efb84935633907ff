import NIOCore
import NIOWebSocket
import NestModel
import NestProtocol

/// Decides how to handle each WebSocket frame of a client. The payloads of its binary messages are the protocol's byte
/// stream; where a message begins and ends means nothing.
package struct WebSocketInput {
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
    /// After the end every frame is ignored.
    package private(set) var hasEnded = false

    package init() {}

    /// `isWelcomed`: whether the client has logged in.
    package mutating func take(_ frame: WebSocketFrame, isWelcomed: Bool) -> Action {
        guard !self.hasEnded else { return .ignore }
        let action = self.action(frame, isWelcomed: isWelcomed)
        switch action {
        case .closed, .fail: self.hasEnded = true
        case .deliver, .pong, .ignore: break
        }
        return action
    }

    /// The bytes of a frame cannot be read. Returns `nil` if the connection has ended already.
    package mutating func failed(_ error: NIOWebSocketError) -> WebSocketCode? {
        guard !self.hasEnded else { return nil }
        self.hasEnded = true
        return switch error {
        case .invalidFrameLength: .tooLarge
        case .fragmentedControlFrame, .multiByteControlFrameLength: .violation
        }
    }

    private mutating func action(_ frame: WebSocketFrame, isWelcomed: Bool) -> Action {
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return .fail(.violation) }
        switch frame.opcode {
        case .binary:
            guard !self.isInMessage else { return .fail(.violation) }
        case .continuation:
            guard self.isInMessage else { return .fail(.violation) }
        case .text:
            return .fail(self.isInMessage ? .violation : .notBinary)
        case .ping:
            return .pong(frame.unmaskedData)
        case .pong:
            return .ignore
        case .connectionClose:
            return Self.close(frame.unmaskedData)
        default:
            return .fail(.violation)
        }
        self.isInMessage = !frame.fin
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
