import NIOCore
import NestModel
import NestProtocol

/// Reads the WebSocket frames of a client, and decides how to handle each.
///
/// The payloads of binary messages are the protocol's byte stream; where a message begins and ends means nothing. So it
/// passes on the bytes of a payload as they arrive. It leaves only an incomplete header or control frame in the buffer:
/// `keptBytesMax` at most.
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

    /// A frame that has ended.
    package enum End: Equatable, Sendable {
        /// A control frame, or one without a byte of the protocol.
        case empty
        /// A frame with so many bytes of the protocol.
        case data(Int)
    }

    package struct Step: Equatable {
        package let action: Action
        /// The frame that ends with this step.
        package var ended: End?
    }

    /// The most bytes that stay in the buffer: those of the longest control frame, less one.
    package static let keptBytesMax = 6 + Self.controlBytesMax - 1
    private static let controlBytesMax = 125

    /// The frame whose payload is arriving.
    private var frame: WebSocketHeader?
    /// The bytes of its payload that have been passed on.
    private var passedOn = 0
    /// Whether a message has begun and its last frame has not arrived.
    private var isInMessage = false
    private var bytesBeforeWelcome = 0
    /// After the end nothing is read.
    package private(set) var hasEnded = false

    package init() {}

    /// Whether the next byte begins a frame.
    package var isBetweenFrames: Bool { self.frame == nil }

    /// Takes the next step from `buffer`. Returns `nil` when more bytes are needed, and after the end. `isWelcomed`:
    /// whether the client has logged in.
    package mutating func next(from buffer: inout ByteBuffer, isWelcomed: Bool) -> Step? {
        guard !self.hasEnded else { return nil }
        if self.frame == nil {
            guard let header = WebSocketHeader.read(from: &buffer) else { return nil }
            // A frame that is refused is not waited for.
            if let code = self.refusal(of: header, isWelcomed: isWelcomed) { return self.end(.fail(code)) }
            self.frame = header
            self.passedOn = 0
        }
        guard let frame = self.frame else { return nil }
        return frame.isControl ? self.control(frame, &buffer) : self.data(frame, &buffer)
    }

    private mutating func end(_ action: Action) -> Step {
        self.hasEnded = true
        return Step(action: action)
    }

    private mutating func refusal(of header: WebSocketHeader, isWelcomed: Bool) -> WebSocketCode? {
        guard header.mask != nil, !header.hasReservedBits else { return .violation }
        guard !header.isControl else {
            return header.fin && header.length <= Self.controlBytesMax && header.opcode <= WebSocketHeader.pong
                ? nil : .violation
        }
        switch header.opcode {
        case WebSocketHeader.binary where !self.isInMessage, WebSocketHeader.continuation where self.isInMessage: break
        case WebSocketHeader.text where !self.isInMessage: return .notBinary
        default: return .violation
        }
        guard header.length <= Limits.webSocketFrameBytesMax else { return .tooLarge }
        self.isInMessage = !header.fin
        if !isWelcomed {
            self.bytesBeforeWelcome += Int(header.length)
            guard self.bytesBeforeWelcome <= Limits.bytesBeforeHelloMax else { return .tooLarge }
        }
        return nil
    }

    private mutating func data(_ frame: WebSocketHeader, _ buffer: inout ByteBuffer) -> Step? {
        let length = Int(frame.length)
        guard length > 0 else {
            self.frame = nil
            return Step(action: .ignore, ended: .empty)
        }
        let count = min(length - self.passedOn, buffer.readableBytes)
        guard count > 0, let bytes = buffer.readSlice(length: count) else { return nil }
        let payload = frame.unmasked(bytes, from: self.passedOn)
        self.passedOn += count
        guard self.passedOn == length else { return Step(action: .deliver(payload)) }
        self.frame = nil
        return Step(action: .deliver(payload), ended: .data(length))
    }

    private mutating func control(_ frame: WebSocketHeader, _ buffer: inout ByteBuffer) -> Step? {
        guard let bytes = buffer.readSlice(length: Int(frame.length)) else { return nil }
        self.frame = nil
        let payload = frame.unmasked(bytes, from: 0)
        switch frame.opcode {
        case WebSocketHeader.ping: return Step(action: .pong(payload), ended: .empty)
        case WebSocketHeader.pong: return Step(action: .ignore, ended: .empty)
        default: return self.end(Self.close(payload))
        }
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
