import NIOCore
import NIOEmbedded
import NIOWebSocket
import NestModel
import NestProtocol
import NestServer
import Testing

/// Frames of WebSocket clients, and the frames that the server sends.
struct WebSocketRulesTests {
    private typealias Action = WebSocketRules.Action

    private static func frame(
        _ opcode: RawWebSocket.Opcode,
        _ bytes: [UInt8] = [],
        fin: Bool = true,
        isMasked: Bool = true
    ) -> [UInt8] {
        RawWebSocket.frame(opcode, bytes, fin: fin, isMasked: isMasked)
    }

    /// Returns what swift-nio's decoder and the rules make of frames, until one of them ends the connection.
    private static func actions(_ frames: [UInt8]..., isWelcomed: Bool = true) throws -> [Action] {
        let most = isWelcomed ? Limits.webSocketFrameBytesMax : Limits.bytesBeforeHelloMax
        let decoder = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: most))
        let channel = EmbeddedChannel(handler: decoder)
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        var refusal: Action?
        do {
            try channel.writeInbound(ByteBuffer(bytes: frames.joined()))
        } catch {
            refusal = .fail(WebSocketCode(refusing: error))
        }
        var rules = WebSocketRules()
        var actions: [Action] = []
        while let frame = try channel.readInbound(as: WebSocketFrame.self) {
            actions.append(rules.action(for: frame, isWelcomed: isWelcomed))
            switch actions.last {
            case .closed, .fail: return actions
            default: break
            }
        }
        return actions + [refusal].compactMap { $0 }
    }

    @Test func payloadsOfBinaryMessagesAreOneStream() throws {
        let actions = try Self.actions(
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

    @Test func violationsHaveTheirCodes() throws {
        #expect(try Self.actions(Self.frame(.text, [0x61])) == [.fail(.notBinary)])
        #expect(try Self.actions(Self.frame(.binary, [1], isMasked: false)) == [.fail(.violation)])
        #expect(try Self.actions(Self.frame(.ping, isMasked: false)) == [.fail(.violation)])
        #expect(try Self.actions(Self.frame(.continuation, [1])) == [.fail(.violation)])
        for next in [RawWebSocket.Opcode.binary, .text] {
            let actions = try Self.actions(Self.frame(.binary, [1], fin: false), Self.frame(next, [2]))
            #expect(actions.last == .fail(.violation))
        }
        for first: UInt8 in [0x83, 0x87, 0x8b, 0x8f, 0xc2, 0xa2, 0x92, 0x09] {
            #expect(try Self.actions([first, 0x81, 1, 2, 3, 4, 5]) == [.fail(.violation)], "\(first)")
        }
        #expect(try Self.actions([0x89, 0xfe, 0, 126, 1, 2, 3, 4]) == [.fail(.violation)])
    }

    @Test func nothingFollowsTheEnd() throws {
        let close = Self.frame(.close, [0x0f, 0xa0, 0x62])
        #expect(try Self.actions(close, Self.frame(.binary, [1]), Self.frame(.ping)) == [.closed(4000)])
        #expect(try Self.actions(Self.frame(.close)) == [.closed(1000)])
        #expect(try Self.actions(Self.frame(.text), Self.frame(.binary, [1])) == [.fail(.notBinary)])
        for payload: [UInt8] in [[3], [3, 0xec], [3, 0xed], [0, 0], [0x13, 0x88]] {
            #expect(try Self.actions(Self.frame(.close, payload)) == [.fail(.violation)], "\(payload)")
        }
        #expect(try Self.actions(Self.frame(.close, [3, 0xe8, 0xff])) == [.fail(.notText)])
    }

    @Test func bytesBeforeWelcomeAreLimited() throws {
        let half = [UInt8](repeating: 0, count: Limits.bytesBeforeHelloMax / 2)
        let frames = (Self.frame(.binary, half), Self.frame(.binary, half), Self.frame(.binary, [1]))
        let before = try Self.actions(frames.0, frames.1, frames.2, isWelcomed: false)
        #expect(before.map { $0 == .fail(.tooLarge) } == [false, false, true])
        #expect(try !Self.actions(frames.0, frames.1, frames.2).contains(.fail(.tooLarge)))
    }

    /// A frame that is too large is not waited for.
    @Test func largeFramesAreRefusedByTheirHeaders() throws {
        let most = Limits.bytesBeforeHelloMax
        let header: [UInt8] = [0x82, 0xfe, UInt8((most + 1) >> 8), UInt8((most + 1) & 0xff), 0, 0, 0, 0]
        #expect(try Self.actions(header, isWelcomed: false) == [.fail(.tooLarge)])
        #expect(try Self.actions(header).isEmpty)
        #expect(try Self.actions([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) == [.fail(.tooLarge)])
        #expect(try Self.actions([0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]) == [.fail(.tooLarge)])
        #expect(try Self.actions([0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]).isEmpty)
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
