import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// The first bytes of a connection, over a real socket.
    struct Handshake {
        @Test func aHandshakeSentByteByByteSucceeds() async throws {
            try await withServer { port, _ in
                let connection = try ServerRawConnection(port: port)
                for byte in Preface.client.bytes + Array(ServerRawConnection.hello().readableBytesView) {
                    try connection.send([byte])
                }
                #expect(try connection.preface() == [1, 1, 1, 0])
                let welcome = try connection.expect(Welcome.self, id: 0)
                #expect(welcome.serverName == "test")
                #expect(welcome.features == ServerRawConnection.features)
                #expect(welcome.modelHash == ManagedObjectModel.nestedList.hash)
            }
        }

        @Test func requestsMayFollowHelloAtOnce() async throws {
            try await withServer { port, _ in
                let connection = try ServerRawConnection(port: port)
                var bytes = ByteBuffer(bytes: Preface.client.bytes)
                bytes.writeImmutableBuffer(ServerRawConnection.hello())
                for id in 1...UInt32(20) { bytes.writeImmutableBuffer(GetModel().frame(id: id)) }
                try connection.send(bytes)
                _ = try connection.preface()
                _ = try connection.expect(Welcome.self, id: 0)
                for id in 1...UInt32(20) {
                    #expect(try connection.expect(ModelMessage.self, id: id).model == .nestedList)
                }
            }
        }

        @Test func otherProtocolsAreClosedWithoutAnAnswer() async throws {
            try await withServer { port, _ in
                for text in ["GET / HTTP/1.1\r\n\r\n", "NES!", "\u{16}\u{3}\u{1}"] {
                    let connection = try ServerRawConnection(port: port)
                    try connection.send(Array(text.utf8))
                    #expect(try connection.bytesUntilClosed() == 0, "\(text)")
                }
            }
        }

        @Test func unsupportedVersionsAreAnsweredWithTheRange() async throws {
            try await withServer { port, _ in
                let connection = try ServerRawConnection(port: port)
                try connection.send(Preface.magic + [9, 8, 0, 0])
                #expect(try connection.preface() == [0, 1, 1, 0])
                #expect(try connection.frame() == nil)
            }
        }

        @Test func aLargeFrameBeforeWelcomeEndsTheConnection() async throws {
            try await withServer { port, _ in
                let connection = try ServerRawConnection(port: port)
                try connection.send(Preface.client.bytes)
                var header = ByteBuffer()
                header.writeMultipleIntegers(
                    UInt32(Limits.frameBytesBeforeWelcomeMax + 1),
                    UInt8(1),
                    UInt8(0),
                    UInt16(0)
                )
                header.writeInteger(UInt32(0))
                try connection.send(header)
                _ = try connection.preface()
                #expect(try connection.expectError(id: 0) == .frameTooLarge)
                #expect(try connection.frame() == nil)
            }
        }

        @Test func anotherHistoryThanExpectedIsRefused() async throws {
            try await withServer { port, _ in
                let connection = try ServerRawConnection(port: port)
                try connection.send(Preface.client.bytes)
                let hello = ServerRawConnection.hello(expectedHistory: Identifier128(high: 1, low: 1))
                try connection.send(hello)
                // Must not be executed: the client expects another store.
                try connection.send(TransactionMessage(.insert("never")).frame(id: 1))
                _ = try connection.preface()
                #expect(try connection.expectError(id: 0) == .conflict)
                #expect(try connection.frame() == nil)
                let (_, welcome) = try ServerRawConnection.ready(port: port)
                #expect(welcome.revision == Revision(0))
            }
        }

        @Test func aSilentConnectionIsClosedAfterTheHandshakeTime() async throws {
            try await withServer {
                $0.timing.handshake = .milliseconds(500)
            } _: { port, _ in
                let connection = try ServerRawConnection(port: port)
                try connection.send(Preface.client.bytes)
                _ = try connection.preface()
                #expect(try connection.expectError(id: 0) == .timedOut)
                #expect(try connection.frame() == nil)
            }
        }

        @Test func aSilentClientIsPingedAndThenClosed() async throws {
            try await withServer {
                $0.timing.pingInterval = .milliseconds(50)
                $0.timing.pingTimeout = .seconds(1)
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let ping = try connection.expect(Ping.self, id: 0)
                try connection.send(Pong(payload: ping.payload).frame(id: 0))
                _ = try connection.expect(Ping.self, id: 0)
                #expect(try connection.frame() == nil)
            }
        }

        @Test func connectionsOverTheMaximumAreRefused() async throws {
            try await withServer {
                $0.connectionsMax = 2
            } _: { port, _ in
                var served: [ServerRawConnection] = []
                for _ in 0..<2 { served.append(try ServerRawConnection.ready(port: port).0) }
                let third = try ServerRawConnection(port: port)
                #expect(try third.preface() == [1, 1, 1, 0])
                #expect(try third.expectError(id: 0) == .busy)
                #expect(try third.frame() == nil)
                served.removeAll()
                // The server notices the two disconnections some time later.
                var next: ServerRawConnection?
                while next == nil { next = try? ServerRawConnection.ready(port: port).0 }
            }
        }
    }
}
