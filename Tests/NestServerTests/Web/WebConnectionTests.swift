import NIOCore
import NIOEmbedded
import NestModel
import NestProtocol
import NestServer
import Testing

/// A connection of the web port, and the step to WebSocket.
struct WebConnectionTests {
    private static let page = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// A flush may close the channel before it returns. The connection that has the slot must learn it.
    @Test(arguments: 1...2)
    func aSocketThatClosesDuringTheUpgradeFreesItsSlot(_ flush: Int) throws {
        let limiter = ConnectionLimiter(max: 1)
        let web = try EmbeddedWeb(limiter, endsOutput: true, behind: EmbeddedWeb.ClosesAtFlush(flush))
        #expect(limiter.count == 1)
        web.send(Array(RawWebSocket.request().utf8) + RawWebSocket.frame(.text, [0x61]))
        #expect(!web.channel.isActive)
        #expect(limiter.count == 0)
        let client = try #require(web.client)
        #expect(client.activeCount == 1 && client.inactiveCount == 1)
        #expect(client.ends == (flush == 1 ? [] : [.notBinary]))
    }

    @Test func eventsDuringTheUpgradeReachTheClient() throws {
        let web = try EmbeddedWeb()
        _ = try web.channel.writeInbound(ByteBuffer(string: RawWebSocket.request()))
        web.channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
        // The frame arrives before the handler of HTTP has left.
        _ = try web.channel.writeInbound(ByteBuffer(bytes: RawWebSocket.frame(.binary, [1, 2])))
        web.send(RawWebSocket.frame(.binary, [3]))
        let client = try #require(web.client)
        #expect(client.errorCount == 1 && client.received == [1, 2, 3])
        web.close()
        #expect(client.inactiveCount == 1)
    }

    /// The time for the request is part of the time until the login.
    @Test func theTimeOfAHandshakeBeginsWithTheConnection() throws {
        let web = try EmbeddedWeb()
        let opened = NIODeadline.now()
        while NIODeadline.now() == opened {}
        web.send(RawWebSocket.request())
        #expect(try #require(web.client).since <= opened)
        web.close()
    }

    /// One byte of the next request is always there, so the buffer is never empty.
    @Test func theMemoryOfManyRequestsIsReleased() throws {
        let web = try EmbeddedWeb()
        let rest = "ET /x HTTP/1.1\r\nHost: localhost\r\nA: " + String(repeating: "a", count: 8_000) + "\r\n\r\nG"
        web.send("G")
        for _ in 0..<200 { web.send(rest) }
        #expect(web.channel.isActive)
        #expect(web.connection.bufferCapacity <= 2 * Limits.webHeadBytesMax + rest.utf8.count)
        web.close()
    }

    /// Connections without an answer slow down the listener, as on the other port. A connection that a browser has
    /// opened early, and one that asked for a file, do not.
    @Test func connectionsWithoutAnAnswerArePaced() throws {
        // No token is added during the test.
        let start = NIODeadline.now() + .hours(1)
        for (bytes, isBad) in [
            ("", true), ("GET / HTTP/1.1\r\nHost: evil\r\n\r\n", true), ("x\r\n\r\n", true), (Self.page, false),
        ] {
            let limiter = ConnectionLimiter(max: 4, now: start)
            for _ in 0..<Limits.rejectedBurstMax {
                #expect(!limiter.mustPace(now: start))
                let web = try EmbeddedWeb(limiter)
                if !bytes.isEmpty { web.send(bytes) }
                web.close()
            }
            #expect(limiter.mustPace(now: start) == isBad, "\(bytes)")
        }
        let limiter = ConnectionLimiter(max: 4, now: start)
        for _ in 0..<Limits.rejectedBurstMax {
            let web = try EmbeddedWeb(limiter)
            web.connection.sweep(now: start)
            let answer = try #require(try web.channel.readOutbound(as: ByteBuffer.self))
            #expect(String(buffer: answer).hasPrefix("HTTP/1.1 408 "))
            web.close()
        }
        #expect(!limiter.mustPace(now: start))
    }

    /// With TLS a connection stays open until the peer answers. It does nothing meanwhile, and does not hold up the
    /// server's end.
    @Test func aConnectionThatIsCutDoesNothingMore() throws {
        let web = try EmbeddedWeb(behind: EmbeddedWeb.NeverCloses())
        let drained = NIOLoopBoundBox(false, eventLoop: web.eventLoop)
        web.loop.drain(within: .seconds(1)).assumeIsolated().whenComplete { _ in drained.value = true }
        #expect(drained.value)
        web.send(RawWebSocket.request())
        #expect(web.channel.isActive && web.client == nil)
    }

    // MARK: Frames

    /// After a frame that is refused, the rest of it is discarded: an error would cut the connection.
    @Test func theRestOfARefusedFrameIsDiscarded() throws {
        let web = try EmbeddedWeb()
        web.send(RawWebSocket.request())
        let client = try #require(web.client)
        client.isWelcomed = true
        web.send([0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4])
        for _ in 0..<4 { web.send([UInt8](repeating: 0, count: 1_000)) }
        #expect(client.ends == [.tooLarge] && client.errorCount == 0 && client.received.isEmpty)
        #expect(web.channel.isActive)
        web.close()
    }

    @Test(arguments: [RawWebSocket.Opcode.ping, .pong, .binary])
    func emptyFramesCountWhileOthersWait(_ opcode: RawWebSocket.Opcode) throws {
        let web = try EmbeddedWeb(burst: 100)
        web.send(RawWebSocket.request())
        let client = try #require(web.client)
        client.handlesAtOnce = false
        web.send([UInt8]((0..<100).map { _ in RawWebSocket.frame(opcode) }.joined()))
        #expect(client.floodCount == 0)
        // A slow machine may add a few tokens meanwhile.
        web.send([UInt8]((0..<100).map { _ in RawWebSocket.frame(opcode) }.joined()))
        #expect(client.floodCount > 0)
        web.close()
    }

    /// Small frames that arrive while others wait are counted when it is known which of them completed a frame.
    @Test(arguments: [(0, true), (100, true), (200, false), (300, false)])
    func smallFramesThatWaitedCountLater(_ handled: Int, _ isFlood: Bool) throws {
        let web = try EmbeddedWeb(burst: 100)
        web.send(RawWebSocket.request())
        let client = try #require(web.client)
        client.isWelcomed = true
        client.handlesAtOnce = false
        let frames = [UInt8]((0..<300).map { _ in RawWebSocket.frame(.binary, [0]) }.joined())
        web.send(frames)
        #expect(client.floodCount == 0)
        client.handledFrameCount = handled
        client.handlesAtOnce = true
        web.send(RawWebSocket.frame(.binary, [UInt8](repeating: 0, count: Limits.controlChunkBytesMax)))
        #expect((client.floodCount > 0) == isFlood)
        web.close()
    }
}
