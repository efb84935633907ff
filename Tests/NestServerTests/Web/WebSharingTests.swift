import NIOCore
import NIOEmbedded
import NIOPosix
import NestModel
import NestServer
import Testing

/// What the server encodes once, it sends to WebSockets without a copy, as it does over TCP.
struct WebSharingTests {
    @Test func connectionsShareWhatTheySend() throws {
        let eventLoop = EmbeddedEventLoop()
        let memory = ConnectionMemory(bytesMax: 1 << 20, loopCount: 1)
        let loop = ConnectionLoop(eventLoop: eventLoop, index: 0, of: 1, memory: memory, outputBytesMax: 1 << 20)
        let small = ByteBuffer(bytes: [UInt8](repeating: 7, count: 300))
        let large = ByteBuffer(bytes: [UInt8](repeating: 7, count: WebSocketOutput.copiedBytesMax + 1))
        var starts: [Set<UnsafeRawPointer?>] = [[], [], []]
        for _ in 0..<2 {
            let channel = try Self.webSocket(eventLoop, loop)
            try channel.writeOutbound(small)
            try channel.writeOutbound(large)
            for index in starts.indices {
                let buffer = try #require(try channel.readOutbound(as: ByteBuffer.self))
                starts[index].insert(buffer.withUnsafeReadableBytes { $0.baseAddress })
            }
            #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
        // Both connections have sent the same memory: one frame, one header, and the large buffer itself.
        #expect(starts.map(\.count) == [1, 1, 1])
        #expect(starts[2] == [large.withUnsafeReadableBytes { $0.baseAddress }])
    }

    /// Returns a channel that has become a WebSocket.
    private static func webSocket(_ eventLoop: EmbeddedEventLoop, _ loop: ConnectionLoop) throws -> EmbeddedChannel {
        let port = WebPort(
            gate: WebGate(WebConfiguration(host: "127.0.0.1", port: 0), isEncrypted: false),
            files: nil,
            page: nil,
            threads: .singleton,
            limiter: ConnectionLimiter(max: 1),
            timing: ServerConfiguration.Timing(),
            controlFrames: TokenBucket.Rate(perSecond: 1, burst: 1)
        ) { _, _, _ in
            SilentClient()
        }
        let channel = EmbeddedChannel(handler: WebConnection(port, loop: loop), loop: eventLoop)
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(string: RawWebSocket.request()))
        let head = try #require(try channel.readOutbound(as: ByteBuffer.self))
        #expect(String(buffer: head).hasPrefix("HTTP/1.1 101 "))
        return channel
    }
}

private final class SilentClient: WebSocketClient {
    typealias InboundIn = ByteBuffer

    let isWelcomed = true
    let handledFrameCount = 0
    let handlesAtOnce = true
    let webSocketCode = WebSocketCode.normal

    func noteWaiting(_ byteCount: Int) {}

    func end(by code: WebSocketCode) {}

    func finishFlood() {}
}
