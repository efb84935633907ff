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

    /// Requests that arrive together are answered one by one.
    @Test func oneRequestIsAnsweredAtATime() throws {
        let web = try EmbeddedWeb()
        _ = try web.channel.writeInbound(ByteBuffer(string: Self.page + Self.page + Self.page))
        for _ in 0..<3 {
            #expect(web.sent().ranges(of: "HTTP/1.1 200 ").count == 1)
            web.eventLoop.advanceTime(by: .milliseconds(1))
        }
        #expect(web.sent().isEmpty && web.channel.isActive)
        web.close()
    }

    /// What follows such a head is no request, however the decoder reads it.
    @Test(arguments: [
        (RawWebSocket.request(), 101), (RawWebSocket.request(["Connection": "upgrade\t"]), 101),
        (RawWebSocket.request(["Connection": "upgrade\t, a"]), 400),
        (RawWebSocket.request(["Connection": "upgrade;a"]), 400),
        (RawWebSocket.request(["Upgrade": "websocket\tx"]), 400),
        (RawWebSocket.request(["Connection": "keep-alive"]), 426), (RawWebSocket.request(["Upgrade": "h2c"]), 426),
        (RawWebSocket.request(["Transfer-Encoding": "gzip"]), 400),
        (RawWebSocket.request(["Content-Length": "9"]), 400),
        (RawWebSocket.request(line: "GET / HTTP/1.1"), 200), (RawWebSocket.request(line: "GET /none HTTP/1.1"), 404),
        (RawWebSocket.request(line: "POST /nest HTTP/1.1"), 405),
        ("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ])
    func noRequestFollowsAHeadWithAnUpgrade(_ request: String, _ status: Int) throws {
        let rest = Self.page + Self.page + Self.page
        for pieces in [[request + rest], [request, rest], (request + rest).map { "\($0)" }] {
            let web = try EmbeddedWeb(endsOutput: true)
            let sent = pieces.map { web.send($0) }.joined()
            #expect(sent.hasPrefix("HTTP/1.1 \(status) ") && sent.ranges(of: "HTTP/1.1").count == 1, "\(sent)")
            #expect((web.client != nil) == (status == 101))
            // The bytes of the second request are a frame that is not masked.
            if let client = web.client { #expect(client.ends == [.violation]) }
            #expect(!web.channel.isActive)
            web.close()
        }
    }

    /// The time for a head begins with its first byte, also if that came together with the request before it.
    @Test func aHeadThatFollowsAnotherHasTheSameTime() throws {
        let late = NIODeadline.now() + .seconds(Int64(Limits.webIdleSeconds) - 1)
        for (bytes, status) in [(Self.page, nil), (Self.page + "G", 408), (Self.page + "GET / HTTP/1.1\r\n", 408)] {
            let web = try EmbeddedWeb()
            web.send(bytes)
            web.connection.sweep(now: late)
            let sent = web.sent()
            #expect(status.map { sent.hasPrefix("HTTP/1.1 \($0) ") } ?? sent.isEmpty, "\(sent)")
            web.close()
        }
    }

    // MARK: Frames

    /// A frame is collected, so a stranger's is small. The limit is that of the time when the frame begins.
    @Test func aFrameThatBeginsBeforeTheLoginIsSmall() throws {
        let most = Limits.bytesBeforeHelloMax
        let large: [UInt8] = [0x82, 0xfe, UInt8((most + 1) >> 8), UInt8((most + 1) & 0xff), 1, 2, 3, 4]
        for count in [0, 1, 2, large.count] {
            let web = try EmbeddedWeb()
            web.send(RawWebSocket.request())
            let client = try #require(web.client)
            web.send(Array(large.prefix(count)))
            client.isWelcomed = true
            web.send(Array(large.dropFirst(count)))
            #expect(client.ends == (count == 0 ? [] : [.tooLarge]), "\(count)")
            // A frame that has begun before the login is followed by one with the other limit.
            guard count > 0 else { continue }
            let other = try EmbeddedWeb()
            other.send(RawWebSocket.request())
            let second = try #require(other.client)
            let small = RawWebSocket.frame(.binary, [7])
            other.send(Array(small.prefix(min(count, small.count - 1))))
            second.isWelcomed = true
            other.send(small.suffix(small.count - min(count, small.count - 1)) + large)
            #expect(second.ends.isEmpty && second.received == [7])
            for web in [web, other] { web.close() }
        }
    }

    /// The bytes of a frame that is arriving count as held, until it is whole.
    @Test func theBytesThatWaitForTheirFrameAreReported() throws {
        let web = try EmbeddedWeb()
        web.send(RawWebSocket.request())
        let client = try #require(web.client)
        let frame = RawWebSocket.frame(.binary, [UInt8](repeating: 7, count: 100))
        web.send(Array(frame.prefix(1)))
        web.send(Array(frame[1..<46]))
        web.send(Array(frame[46..<66]))
        #expect(client.received.isEmpty)
        web.send(frame.suffix(frame.count - 66) + frame.prefix(16))
        #expect(client.received.count == 100)
        #expect(client.waiting == [0, 40, 60, 0, 10])
        web.close()
    }

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
