import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// Abusive clients: each is closed with a reason, and other clients are not affected.
    struct Abuse {
        /// Control frames; `id` counts from 1.
        enum Flood: String, CaseIterable, Sendable {
            case ping, pong, cancel, credit, chunk, ignorable, unknown, reusedID, malformed, model, predicate

            func frame(id: UInt32) -> ByteBuffer {
                var buffer = ByteBuffer()
                func raw(_ type: UInt8, _ id: UInt32, _ body: [UInt8] = []) {
                    buffer.writeMultipleIntegers(UInt32(body.count), type, UInt8(0), UInt16(0), id)
                    buffer.writeBytes(body)
                }
                switch self {
                case .ping: buffer = Ping(payload: UInt64(id)).frame(id: 0)
                case .pong: buffer = Pong(payload: UInt64(id)).frame(id: 0)
                case .cancel: buffer = Cancel().frame(id: 1)
                case .credit: buffer = Credit(bytes: 1).frame(id: 1)
                case .chunk: raw(0x23, 1, [0, 0])
                case .ignorable: raw(0x80, 0)
                case .unknown: raw(0x7f, id + 1)
                case .reusedID: raw(0x6f, 1)
                case .malformed: raw(0x1a, id + 1)
                case .model: buffer = GetModel().frame(id: id + 1)
                case .predicate: buffer = ParsePredicate("", of: EntityNumber(1)).frame(id: id + 1)
                }
                return buffer
            }
        }

        @Test(arguments: Flood.allCases)
        func aFloodOfControlFramesIsEnded(_ flood: Flood) async throws {
            try await withServer {
                $0.controlFrames = TokenBucket.Rate(perSecond: 1, burst: 100)
            } _: { port, _ in
                let (other, _) = try ServerRawConnection.ready(port: port, session: 2)
                let (attacker, _) = try ServerRawConnection.ready(port: port)
                // Parts need an earlier request. This request counts as one control frame.
                try attacker.send(GetModel().frame(id: 1))
                var bytes = ByteBuffer()
                for id in 1...UInt32(99) { bytes.writeImmutableBuffer(flood.frame(id: id)) }
                try attacker.send(bytes)
                // The burst is used up, and the client is still served.
                let last: UInt32 = 1_000
                try attacker.send(GetObject(id: ObjectID(1)).frame(id: last))
                var frame = try #require(try attacker.frame())
                while frame.id != last || frame.type != MessageType.object.rawValue {
                    #expect(frame.type != MessageType.goAway.rawValue)
                    frame = try #require(try attacker.frame())
                }
                // More frames than the rate allows during this test.
                var more = ByteBuffer()
                for id in 1_001...UInt32(3_000) { more.writeImmutableBuffer(flood.frame(id: id)) }
                try? attacker.send(more)
                let goAway = try GoAway(body: try #require(try attacker.frames(until: .goAway).last).body)
                #expect(goAway.code == .limitExceeded)
                #expect(goAway.lastRequestID >= last)
                #expect(goAway.retryAfterMilliseconds > 0)
                #expect(try attacker.frame() == nil)
                try other.send(Ping(payload: 7).frame(id: 0))
                #expect(try other.expect(Pong.self, id: 0).payload == 7)
                try await other.wait(for: "connections_flooding_total") { $0 > 0 }
            }
        }

        @Test func clientsAreServedAmongSilentConnections() async throws {
            try await withServer { port, _ in
                let (other, _) = try ServerRawConnection.ready(port: port, session: 99)
                for session in 1...UInt64(3) {
                    for _ in 0..<(Limits.rejectedBurstMax / 2) { _ = try ServerRawConnection(port: port) }
                    let (connection, _) = try ServerRawConnection.ready(port: port, session: session)
                    try connection.request(Fetch(.rootChildren))
                }
                try await other.wait(for: "connections_rejected_total") { $0 >= Limits.rejectedBurstMax * 3 / 2 }
            }
        }

        /// Many control frames at once are handled over several turns, all of them and in order.
        @Test func controlFramesBeyondOneTurnAreHandledInTheNext() async throws {
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let count = UInt64(Limits.controlFramesPerTurnMax * 5 + 1)
                var bytes = ByteBuffer()
                for payload in 1...count { bytes.writeImmutableBuffer(Ping(payload: payload).frame(id: 0)) }
                try connection.send(bytes)
                let id = try connection.request(GetObject(id: ObjectID(1)))
                for payload in 1...count { #expect(try connection.expect(Pong.self, id: 0).payload == payload) }
                #expect(try #require(try connection.frame()).id == id)
            }
        }

        /// A client that closes its sending side is disconnected. Its last request is executed wholly or not at all,
        /// with or without a reply, and the server releases all its state.
        @Test func aHalfClosedConnectionIsClosed() async throws {
            try await withServer { port, _ in
                let (other, _) = try ServerRawConnection.ready(port: port, session: 99)
                for session in 1...UInt64(20) {
                    let (connection, _) = try ServerRawConnection.ready(port: port, session: session)
                    try connection.request(Subscribe(.rootChildren))
                    try connection.request(TransactionMessage(.insert("a", "b")))
                    connection.endSending()
                    _ = try connection.bytesUntilClosed()
                }
                try await other.wait(for: "connections") { $0 == 1 }
                try await other.wait(for: "subscriptions") { $0 == 0 }
                let id = try other.request(Fetch(.rootChildren))
                let header = try other.expect(SnapshotMessage.self, id: id).header
                let count = header.sections.reduce(0) { $0 + $1.rowCount }
                #expect(count.isMultiple(of: 2) && count <= 40)
            }
        }

        @Test func bytesBeforeHelloAreLimited() async throws {
            try await withServer { port, _ in
                func skipped(_ byteCount: Int) -> ByteBuffer {
                    var buffer = ByteBuffer(bytes: Preface.client.bytes)
                    while buffer.readableBytes < byteCount {
                        let left = byteCount - buffer.readableBytes
                        // Leave at least a header for the last frame.
                        let body = left <= 4_000 ? left - Frame.headerBytes : 3_000
                        buffer.writeMultipleIntegers(UInt32(body), UInt8(0x80), UInt8(0), UInt16(0), UInt32(0))
                        buffer.writeRepeatingByte(0, count: body)
                    }
                    return buffer
                }
                for byteCount in [Limits.bytesBeforeHelloMax - 1, Limits.bytesBeforeHelloMax] {
                    let connection = try ServerRawConnection(port: port)
                    try connection.send(skipped(byteCount))
                    try connection.send(ServerRawConnection.hello())
                    _ = try connection.preface()
                    _ = try connection.expect(Welcome.self, id: 0)
                }
                let connection = try ServerRawConnection(port: port)
                try connection.send(skipped(Limits.bytesBeforeHelloMax + 1))
                _ = try connection.preface()
                #expect(try connection.expectError(id: 0) == .limitExceeded)
                #expect(try connection.frame() == nil)
            }
        }

        /// Slowly arriving bytes keep the connection alive but do not extend the time for a frame.
        @Test func aFrameThatArrivesTooSlowlyEndsTheConnection() async throws {
            try await withServer {
                $0.timing.frame = .milliseconds(300)
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let ping = Array(Ping(payload: 7).frame(id: 0).readableBytesView)
                try connection.send(ping + ping.prefix(14))
                _ = try connection.expect(Pong.self, id: 0)
                #expect(try connection.expectError(id: 0) == .timedOut)
                #expect(try connection.frame() == nil)
            }
        }

        /// A connection without HELLO loses its slot when another client needs it.
        @Test func clientsEvictConnectionsWithoutHello() async throws {
            try await withServer {
                $0.connectionsMax = 4
                $0.timing.handshake = .hours(1)
            } _: { port, _ in
                let silent = try (0..<4).map { _ in try ServerRawConnection(port: port) }
                for connection in silent { try connection.send(Preface.client.bytes) }
                for connection in silent { _ = try connection.preface() }
                var served: [ServerRawConnection] = []
                for session in 1...UInt64(4) {
                    served.append(try ServerRawConnection.ready(port: port, session: session).0)
                }
                for connection in silent { #expect(try connection.bytesUntilClosed() == 0) }
                // Clients now hold all slots.
                let fifth = try ServerRawConnection(port: port)
                _ = try fifth.preface()
                #expect(try fifth.expectError(id: 0) == .busy)
                for connection in served {
                    try connection.send(Ping(payload: 1).frame(id: 0))
                    _ = try connection.expect(Pong.self, id: 0)
                }
            }
        }

        @Test func theConnectionThatHoldsMostMemoryIsClosed() async throws {
            try await withServer {
                $0.socketSendBytes = 16 << 10
                // Less than the sum of one 2 MB reply for a client that does not read, and another reply of 0.5 MB.
                $0.connectionBytesMax = 2 << 20
            } _: { port, _ in
                let (writer, _) = try ServerRawConnection.ready(port: port)
                try writer.insertWideRows(40)
                // 2 MB each.
                let (modest, _) = try ServerRawConnection.ready(port: port, session: 2, receiveBytes: 8 << 10)
                var part = ObjectFetchRequest.rootChildren
                part.window = .range(offset: 0, limit: 10)
                try modest.request(Fetch(part))
                let (greedy, _) = try ServerRawConnection.ready(port: port, session: 3, receiveBytes: 8 << 10)
                var fetches = ByteBuffer()
                for id in 1...UInt32(Limits.resultsInFlightPerConnectionMax) {
                    fetches.writeImmutableBuffer(Fetch(.rootChildren).frame(id: id))
                }
                try greedy.send(fetches)
                try await writer.wait(for: "connections_shed_total") { $0 > 0 }
                let goAway = try GoAway(body: try #require(try greedy.frames(until: .goAway).last).body)
                #expect(goAway.code == .busy)
                #expect(goAway.lastRequestID == UInt32(Limits.resultsInFlightPerConnectionMax))
                // The other connections stay open and get their replies.
                var frame = try #require(try modest.frame())
                while frame.flags.contains(.more) { frame = try #require(try modest.frame()) }
                #expect(try writer.statistic("connections_shed_total") == 1)
            }
        }

        /// However fast large requests arrive, the bytes in flight are limited and all requests are answered.
        @Test func requestBytesInFlightAreLimited() async throws {
            try await withServer { port, _ in
                let (watcher, _) = try ServerRawConnection.ready(port: port, session: 2)
                let (writer, _) = try ServerRawConnection.ready(port: port)
                let titles = WriteTransaction(
                    mutations: (0..<18).flatMap { _ in WriteTransaction.insert(ServerRawConnection.wideTitle).mutations
                    }
                )
                let count: UInt32 = 48
                // The sending task uses the connection until it ends; only then does this task use it.
                nonisolated(unsafe) let sender = writer
                let sending = Task.detached {
                    for id in 1...count { try sender.send(TransactionMessage(titles).frame(id: id)) }
                }
                var most: UInt64 = 0
                // Without a pause, to see the highest value.
                try await watcher.wait(for: "writes", every: .zero) { writes in
                    most = max(most, try watcher.statistic("connection_bytes"))
                    return writes >= UInt64(count)
                }
                try await sending.value
                for id in 1...count { _ = try writer.expect(ReceiptMessage.self, id: id) }
                #expect(most > UInt64(Limits.frameBytesMax))
                #expect(most <= UInt64(Limits.requestBytesInFlightPerConnectionMax + 4 * Limits.frameBytesMax))
            }
        }
    }
}
