import NIOCore
import NestModel
import NestProtocol
import NestServer
import Testing

/// Frames of WebSocket clients, and the frames that the server sends.
struct WebSocketInputTests {
    private typealias Action = WebSocketInput.Action

    private static func frame(
        _ opcode: RawWebSocket.Opcode,
        _ bytes: [UInt8] = [],
        fin: Bool = true,
        isMasked: Bool = true
    ) -> [UInt8] {
        RawWebSocket.frame(opcode, bytes, fin: fin, isMasked: isMasked)
    }

    private static func actions(_ frames: [UInt8]..., isWelcomed: Bool = true) -> [Action] {
        var input = WebSocketInput()
        var buffer = ByteBuffer(bytes: frames.joined())
        var actions: [Action] = []
        while let step = input.next(from: &buffer, isWelcomed: isWelcomed) { actions.append(step.action) }
        return actions
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
        for next in [RawWebSocket.Opcode.binary, .text] {
            let actions = Self.actions(Self.frame(.binary, [1], fin: false), Self.frame(next, [2]))
            #expect(actions.last == .fail(.violation))
        }
        for first: UInt8 in [0x83, 0x87, 0x8b, 0x8f, 0xc2, 0xa2, 0x92, 0x09] {
            #expect(Self.actions([first, 0x81, 1, 2, 3, 4, 5]) == [.fail(.violation)], "\(first)")
        }
        #expect(Self.actions([0x89, 0xfe, 0, 126, 1, 2, 3, 4]) == [.fail(.violation)])
    }

    @Test func nothingFollowsTheEnd() {
        let close = Self.frame(.close, [0x0f, 0xa0, 0x62])
        #expect(Self.actions(close, Self.frame(.binary, [1]), Self.frame(.ping)) == [.closed(4000)])
        #expect(Self.actions(Self.frame(.close)) == [.closed(1000)])
        #expect(Self.actions(Self.frame(.text), Self.frame(.binary, [1])) == [.fail(.notBinary)])
        for payload: [UInt8] in [[3], [3, 0xec], [3, 0xed], [0, 0], [0x13, 0x88]] {
            #expect(Self.actions(Self.frame(.close, payload)) == [.fail(.violation)], "\(payload)")
        }
        #expect(Self.actions(Self.frame(.close, [3, 0xe8, 0xff])) == [.fail(.notText)])
    }

    @Test func bytesBeforeWelcomeAreLimited() {
        let half = [UInt8](repeating: 0, count: Limits.bytesBeforeHelloMax / 2)
        let frames = (Self.frame(.binary, half), Self.frame(.binary, half), Self.frame(.binary, [1]))
        let before = Self.actions(frames.0, frames.1, frames.2, isWelcomed: false)
        #expect(before.map { $0 == .fail(.tooLarge) } == [false, false, true])
        #expect(!Self.actions(frames.0, frames.1, frames.2).contains(.fail(.tooLarge)))
    }

    /// A frame is refused by its header, and its payload is passed on as it arrives: nothing has to be kept.
    @Test func payloadsAreNotCollected() {
        let most = Limits.bytesBeforeHelloMax
        let header: [UInt8] = [0x82, 0xfe, UInt8((most + 1) >> 8), UInt8((most + 1) & 0xff), 0, 0, 0, 0]
        #expect(Self.actions(header, isWelcomed: false) == [.fail(.tooLarge)])
        #expect(Self.actions(header).isEmpty)
        #expect(Self.actions([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) == [.fail(.tooLarge)])
        var input = WebSocketInput()
        var buffer = ByteBuffer()
        var received: [UInt8] = []
        var ends: [WebSocketInput.End] = []
        let payload = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
        let ping = [UInt8](repeating: 7, count: 125)
        for byte in Self.frame(.binary, payload) + Self.frame(.ping, ping) {
            buffer.writeInteger(byte)
            while let step = input.next(from: &buffer, isWelcomed: true) {
                if case .deliver(let bytes) = step.action { received += bytes.readableBytesView }
                if let ended = step.ended { ends.append(ended) }
            }
            #expect(buffer.readableBytes <= WebSocketInput.keptBytesMax)
        }
        #expect(received == payload && ends == [.data(1_000), .empty])
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
