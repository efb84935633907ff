import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import Testing

extension SocketTests {
    /// The protocol over WebSocket, on real sockets.
    struct WebSocketTests {
        /// Subscribers over both carriers get the same frames.
        @Test func aWebSocketCarriesTheSameFramesAsTCP() async throws {
            try await withWebServer { port, webPort, _ in
                let (plain, _) = try ServerRawConnection.ready(port: port, session: 1)
                let (web, _) = try ServerRawConnection.ready(port: webPort, session: 2, isWebSocket: true)
                for connection in [plain, web] {
                    try connection.request(Subscribe(.rootChildren))
                    _ = try connection.frames(until: .snapshot)
                }
                let (writer, _) = try ServerRawConnection.ready(port: webPort, session: 3, isWebSocket: true)
                for count in [1, 2, 40] {
                    let titles = (0..<count).map { "\($0) " + String(repeating: "t", count: 50 * count) }
                    let id = try writer.request(TransactionMessage(.insert(titles)))
                    _ = try writer.expect(ReceiptMessage.self, id: id)
                    let frames = try [plain, web].map { try $0.frames(until: .diff) }
                    #expect(frames[0] == frames[1])
                }
                #expect(try writer.statistic("web_sockets") == 2)
            }
        }

        @Test func violationsEndTheWebSocketWithACode() async throws {
            let large = [UInt8](repeating: 0, count: Limits.webSocketFrameBytesMax + 1)
            let violations: [(UInt16, [UInt8])] = [
                (1003, RawWebSocket.frame(.text, [0x61])), (1002, RawWebSocket.frame(.binary, [1], isMasked: false)),
                (1002, RawWebSocket.frame(.continuation, [1])), (1009, RawWebSocket.frame(.binary, large)),
                (1002, RawWebSocket.frame(.ping, fin: false)), (1002, RawWebSocket.frame(.close, [3])),
                (1002, RawWebSocket.frame(.ping, [UInt8](repeating: 0, count: 126))),
                (1002, RawWebSocket.frame(.binary, [0x4e], fin: false) + RawWebSocket.frame(.binary, [0x45])),
                (1002, Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8) + [UInt8](repeating: 0, count: 80)),
                (4_321, RawWebSocket.frame(.close, [0x10, 0xe1])), (1000, RawWebSocket.frame(.close)),
            ]
            try await withWebServer { _, port, _ in
                for (code, bytes) in violations {
                    let (connection, _) = try ServerRawConnection.ready(port: port, isWebSocket: true)
                    try connection.sendRaw(bytes)
                    #expect(try connection.frame() == nil)
                    #expect(connection.closeCode == code, "\(bytes.prefix(8))")
                    // The same before the client's first byte.
                    let early = try ServerRawConnection(port: port, isWebSocket: true)
                    try early.sendRaw(bytes)
                    #expect(try early.frame() == nil)
                    #expect(early.closeCode == code, "\(bytes.prefix(8))")
                }
                // The largest frame is accepted after the login, and too much before it.
                let (connection, _) = try ServerRawConnection.ready(port: port, isWebSocket: true)
                try connection.send(Array(large.dropLast()))
                #expect(try connection.expectError(id: 0) == .protocolViolation)
                let early = try ServerRawConnection(port: port, isWebSocket: true)
                try early.send([UInt8](repeating: 0, count: Limits.bytesBeforeHelloMax + 1))
                #expect(try early.frame() == nil)
                #expect(early.closeCode == 1009)
            }
        }

        @Test func pingsAreAnsweredAndMessagesMayBeInAnyPieces() async throws {
            try await withWebServer { _, port, _ in
                let connection = try ServerRawConnection(port: port, isWebSocket: true)
                let hello = ServerRawConnection.hello()
                var bytes = Preface.client.bytes + Array(hello.readableBytesView)
                let last = bytes.removeLast()
                for (index, byte) in bytes.enumerated() {
                    try connection.sendRaw(RawWebSocket.frame(index == 0 ? .binary : .continuation, [byte], fin: false))
                }
                try connection.sendRaw(RawWebSocket.frame(.ping, [1, 2, 3]))
                try connection.sendRaw(RawWebSocket.frame(.continuation, [last]))
                #expect(try connection.preface() == [1, 1, 1, 0])
                _ = try connection.expect(Welcome.self, id: 0)
                #expect(connection.pongs == [[1, 2, 3]])
            }
        }

        /// What follows the request at once belongs to the WebSocket: frames are frames, and a second request is none.
        @Test func bytesAfterTheRequestBelongToTheWebSocket() async throws {
            try await withWebServer { _, port, _ in
                let connection = try ServerRawConnection(port: port)
                try connection.openWebSocket(
                    followedBy: RawWebSocket.frame(.binary, Preface.client.bytes)
                        + RawWebSocket.frame(.binary, Array(ServerRawConnection.hello().readableBytesView))
                )
                #expect(try connection.preface() == [1, 1, 1, 0])
                _ = try connection.expect(Welcome.self, id: 0)
                let second = try ServerRawConnection(port: port)
                let request = RawWebSocket.request() + String(repeating: "x", count: 100)
                try second.openWebSocket(followedBy: Array(request.utf8))
                #expect(try second.frame() == nil)
                #expect(second.closeCode == 1002)
            }
        }

        /// Each byte counts once, as one of the request or of the protocol.
        @Test func bytesAfterTheRequestCountOnce() async throws {
            try await withWebServer { port, webPort, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port, session: 2)
                let payload = Preface.client.bytes + [UInt8](repeating: 0, count: 8_000)
                for _ in 0..<50 {
                    let web = try ServerRawConnection(port: webPort)
                    try web.openWebSocket(followedBy: RawWebSocket.frame(.binary, payload))
                    _ = try web.bytesUntilClosed()
                }
                try await connection.wait(for: "connections_rejected_total") { $0 == 50 }
                let byteCount = try connection.statistic("bytes_in")
                #expect(byteCount >= 50 * 8_000 && byteCount < 75 * 8_000)
            }
        }

        /// A frame that is arriving counts in the memory that connections hold.
        @Test func aFrameThatIsArrivingIsHeld() async throws {
            try await withWebServer { port, webPort, _ in
                let (other, _) = try ServerRawConnection.ready(port: port, session: 2)
                let (connection, _) = try ServerRawConnection.ready(port: webPort, isWebSocket: true)
                let frame = RawWebSocket.frame(.binary, [UInt8](repeating: 0, count: 60_000))
                try connection.sendRaw(Array(frame.prefix(50_008)))
                try await other.wait(for: "connection_bytes") { $0 >= 50_000 }
                // A frame of the protocol with no bytes is a violation.
                try connection.sendRaw(Array(frame.dropFirst(50_008)))
                #expect(try connection.expectError(id: 0) == .protocolViolation)
                try await other.wait(for: "connection_bytes") { $0 < 50_000 }
            }
        }

        /// A client that is gone when its WebSocket begins leaves nothing behind, and the server can stop.
        @Test func connectionsClosedDuringTheUpgradeAreForgotten() async throws {
            let login = Preface.client.bytes + Array(ServerRawConnection.hello().readableBytesView)
            try await withWebServer { port, webPort, server in
                let (connection, _) = try ServerRawConnection.ready(port: port, session: 2)
                for frame in [RawWebSocket.frame(.text), RawWebSocket.frame(.binary, login)] {
                    for _ in 0..<50 {
                        let gone = try ServerRawConnection(port: webPort)
                        try gone.sendRaw(Array(RawWebSocket.request().utf8) + frame)
                    }
                }
                try await connection.wait(for: "web_sockets") { $0 == 100 }
                try await connection.wait(for: "connections") { $0 == 1 }
                try await server.stop()
            }
        }

        /// The rest of a frame that is too large is read and discarded: a connection that is reset would lose its close
        /// frame.
        @Test func aFrameThatIsTooLargeCanBeSentToItsEnd() async throws {
            try await withWebServer {
                $0.timing.linger = .seconds(60)
            } _: { _, port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port, isWebSocket: true)
                let byteCount = 16 << 20
                try connection.sendRaw([0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4])
                try connection.sendRaw([UInt8](repeating: 0, count: byteCount))
                #expect(try connection.frame() == nil)
                #expect(connection.closeCode == 1009)
            }
        }

        /// Frames that complete nothing are control work, however they look.
        @Test(arguments: ["empty", "pieces", "fragments", "pings", "pongs"])
        func aFloodOfTinyFramesIsEnded(_ kind: String) async throws {
            try await withWebServer {
                $0.controlFrames = TokenBucket.Rate(perSecond: 1, burst: 100)
            } _: { _, port, _ in
                let (other, _) = try ServerRawConnection.ready(port: port, session: 2, isWebSocket: true)
                // Requests in frames of their own are no control work.
                for _ in 0..<150 {
                    let id = try other.request(GetObject(id: ObjectID(1)))
                    _ = try other.expect(ObjectMessage.self, id: id)
                }
                let (attacker, _) = try ServerRawConnection.ready(port: port, isWebSocket: true)
                // The first bytes of a frame that is never complete.
                try attacker.send([0, 1, 0, 0])
                var bytes: [UInt8] = kind == "fragments" ? RawWebSocket.frame(.binary, [0], fin: false) : []
                for _ in 0..<3_000 {
                    switch kind {
                    case "empty": bytes += RawWebSocket.frame(.binary)
                    case "pieces": bytes += RawWebSocket.frame(.binary, [0])
                    case "fragments": bytes += RawWebSocket.frame(.continuation, [0], fin: false)
                    case "pings": bytes += RawWebSocket.frame(.ping, [0])
                    default: bytes += RawWebSocket.frame(.pong, [0])
                    }
                }
                try? attacker.sendRaw(bytes)
                let goAway = try GoAway(body: try #require(try attacker.frames(until: .goAway).last).body)
                #expect(goAway.code == .limitExceeded)
                #expect(try attacker.frame() == nil)
                #expect(attacker.closeCode == 1008)
                #expect(try other.statistic("connections_flooding_total") <= 1)
            }
        }

        /// A session that does not end in a violation ends with a code too.
        @Test func theServersEndHasACode() async throws {
            try await withWebServer {
                $0.timing.handshake = .milliseconds(200)
            } _: { _, port, server in
                let silent = try ServerRawConnection(port: port, isWebSocket: true)
                #expect(try silent.preface() == [1, 1, 1, 0])
                #expect(try silent.expectError(id: 0) == .timedOut)
                #expect(try silent.frame() == nil && silent.closeCode == 1008)
                let (connection, _) = try ServerRawConnection.ready(port: port, isWebSocket: true)
                try await server.stop()
                #expect(try connection.frames(until: .goAway).count == 1)
                #expect(try connection.frame() == nil && connection.closeCode == 1001)
            }
        }
    }
}
