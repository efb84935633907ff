import NIOCore
import NIOWebSocket
import NestModel
import NestProtocol
import NestServer
import Testing

/// Frames of WebSocket clients, and the frames that the server sends.
struct WebSocketInputTests {
    private static let mask: WebSocketMaskingKey = [1, 2, 3, 4]

    private static func frame(
        _ opcode: WebSocketOpcode,
        _ bytes: [UInt8] = [],
        fin: Bool = true,
        isMasked: Bool = true
    ) -> WebSocketFrame {
        var data = ByteBuffer(bytes: bytes)
        if isMasked { data.webSocketMask(Self.mask) }
        return WebSocketFrame(fin: fin, opcode: opcode, maskKey: isMasked ? Self.mask : nil, data: data)
    }

    private static func actions(_ frames: WebSocketFrame..., isWelcomed: Bool = true) -> [WebSocketInput.Action] {
        var input = WebSocketInput()
        return frames.map { input.take($0, isWelcomed: isWelcomed) }
    }

    @Test func payloadsOfBinaryMessagesAreOneStream() {
        let actions = Self.actions(
            Self.frame(.binary, [1, 2, 3, 4, 5]),
            Self.frame(.binary, [6], fin: false),
            Self.frame(.ping, [9]),
            Self.frame(.continuation, fin: false),
            Self.frame(.continuation, [7]),
            Self.frame(.pong, [9]),
            Self.frame(.binary, [8])
        )
        #expect(
            actions == [
                .deliver(ByteBuffer(bytes: [1, 2, 3, 4, 5])), .deliver(ByteBuffer(bytes: [6])),
                .pong(ByteBuffer(bytes: [9])), .ignore, .deliver(ByteBuffer(bytes: [7])), .ignore,
                .deliver(ByteBuffer(bytes: [8])),
            ]
        )
    }

    @Test func violationsHaveTheirCodes() {
        #expect(Self.actions(Self.frame(.text, [0x61])) == [.fail(.notBinary)])
        #expect(Self.actions(Self.frame(.binary, [1], isMasked: false)) == [.fail(.violation)])
        #expect(Self.actions(Self.frame(.ping, isMasked: false)) == [.fail(.violation)])
        #expect(Self.actions(Self.frame(.continuation, [1])) == [.fail(.violation)])
        for next in [WebSocketOpcode.binary, .text] {
            let actions = Self.actions(Self.frame(.binary, [1], fin: false), Self.frame(next, [2]))
            #expect(actions.last == .fail(.violation))
        }
        for number in [3, 7, 0xb, 0xf] {
            let opcode = WebSocketOpcode(encodedWebSocketOpcode: UInt8(number))!
            #expect(Self.actions(Self.frame(opcode)) == [.fail(.violation)])
        }
        var reserved = Self.frame(.binary, [1])
        reserved.rsv1 = true
        #expect(Self.actions(reserved) == [.fail(.violation)])
    }

    @Test func nothingFollowsTheEnd() {
        let close = Self.frame(.connectionClose, [0x0f, 0xa0, 0x62])
        #expect(Self.actions(close, Self.frame(.binary, [1]), Self.frame(.ping)) == [.closed(4000), .ignore, .ignore])
        #expect(Self.actions(Self.frame(.connectionClose)) == [.closed(1000)])
        #expect(Self.actions(Self.frame(.text), Self.frame(.binary, [1])) == [.fail(.notBinary), .ignore])
        for payload: [UInt8] in [[3], [3, 0xec], [3, 0xed], [0, 0], [0x13, 0x88]] {
            #expect(Self.actions(Self.frame(.connectionClose, payload)) == [.fail(.violation)], "\(payload)")
        }
        #expect(Self.actions(Self.frame(.connectionClose, [3, 0xe8, 0xff])) == [.fail(.notText)])
        var input = WebSocketInput()
        #expect(input.failed(.invalidFrameLength) == .tooLarge)
        #expect(input.failed(.fragmentedControlFrame) == nil)
    }

    @Test func bytesBeforeWelcomeAreLimited() {
        let half = [UInt8](repeating: 0, count: Limits.bytesBeforeHelloMax / 2)
        let frames = (Self.frame(.binary, half), Self.frame(.binary, half), Self.frame(.binary, [1]))
        let before = Self.actions(frames.0, frames.1, frames.2, isWelcomed: false)
        #expect(before.map { $0 == .fail(.tooLarge) } == [false, false, true])
        #expect(!Self.actions(frames.0, frames.1, frames.2).contains(.fail(.tooLarge)))
    }

    /// The bytes of RFC 6455, section 5.2, for each length of the length.
    @Test func headersHaveTheShortestLength() {
        var output = WebSocketOutput()
        func bytes(_ count: Int) -> [UInt8] {
            let payload = ByteBuffer(bytes: [UInt8](repeating: 7, count: count))
            let message = output.message(payload)
            if let second = message.second { #expect(second == payload) }
            let first = Array(message.first.readableBytesView)
            guard message.second == nil else { return first }
            #expect(first.suffix(count).allSatisfy { $0 == 7 })
            return first.dropLast(count)
        }
        #expect(bytes(0) == [0x82, 0] && bytes(125) == [0x82, 125] && bytes(126) == [0x82, 126, 0, 126])
        let most = WebSocketOutput.copiedBytesMax
        #expect(bytes(most) == [0x82, 126, 8, 0] && bytes(most + 1) == [0x82, 126, 8, 1])
        #expect(bytes(0xffff) == [0x82, 126, 0xff, 0xff])
        #expect(bytes(0x10000) == [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0])
        #expect(Array(WebSocketOutput.close(1009).readableBytesView) == [0x88, 2, 3, 0xf1])
        #expect(Array(WebSocketOutput.pong(ByteBuffer(bytes: [7])).readableBytesView) == [0x8a, 1, 7])
    }
}
