import NIOCore
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

extension SocketTests {
    /// The server sends its preface exactly once before an error that ends the connection, however early.
    struct PrefaceFirst {
        /// Expects the preface, one error and the end.
        private static func expect(_ code: ErrorCode, _ connection: ServerRawConnection, _ what: String) throws {
            #expect(try connection.preface() == [1, 1, 1, 0], "\(what)")
            let frame = try #require(try connection.frame(), "\(what)")
            #expect(frame.type == MessageType.error.rawValue && frame.id == 0, "\(what)")
            #expect(try ErrorMessage(body: frame.body).error.code == code, "\(what)")
            #expect(try connection.bytesUntilClosed() == 0, "\(what)")
        }

        @Test func anUnfinishedPrefaceTimesOut() async throws {
            try await withServer {
                $0.timing.handshake = .milliseconds(300)
            } _: { port, _ in
                let connections = try (0...Preface.byteCount).map { count in
                    let connection = try ServerRawConnection(port: port)
                    try connection.send(Array(Preface.client.bytes.prefix(count)))
                    return connection
                }
                for (count, connection) in connections.enumerated() {
                    try Self.expect(.timedOut, connection, "after \(count) bytes")
                }
            }
        }

        @Test func connectionsBeyondTheLimitGetBusyBeforeHello() async throws {
            try await withServer {
                $0.connectionsMax = 1
            } _: { port, _ in
                let (served, _) = try ServerRawConnection.ready(port: port)
                for count in [0, 4, Preface.byteCount] {
                    let connection = try ServerRawConnection(port: port)
                    try? connection.send(Array(Preface.client.bytes.prefix(count)))
                    try Self.expect(.busy, connection, "after \(count) bytes")
                }
                withExtendedLifetime(served) {}
            }
        }

        @Test func connectionBytesBeyondTheMaximumGetBusyBeforeHello() async throws {
            try await withServer {
                $0.connectionBytesMax = 5
                $0.timing.handshake = .hours(1)
            } _: { port, _ in
                let preface = Preface.client.bytes
                let hello = Array(ServerRawConnection.hello().readableBytesView)
                for bytes in [Array(preface.dropLast()), preface + hello.dropLast()] {
                    let connection = try ServerRawConnection(port: port)
                    try connection.send(bytes)
                    try Self.expect(.busy, connection, "after \(bytes.count) bytes")
                }
            }
        }

        @Test func aFirstFrameOtherThanHelloIsRefused() async throws {
            try await withServer { port, _ in
                func frame(_ type: UInt8, flags: UInt8 = 0, id: UInt32 = 0, length: Int, body: [UInt8] = []) -> [UInt8]
                {
                    var bytes = ByteBuffer()
                    bytes.writeMultipleIntegers(UInt32(length), type, flags, UInt16(0), id)
                    bytes.writeBytes(body)
                    return Array(bytes.readableBytesView)
                }
                let hello = MessageType.hello.rawValue
                let cases: [(String, [UInt8], ErrorCode)] = [
                    ("a request", Array(GetModel().frame(id: 1).readableBytesView), .protocolViolation),
                    ("an id", frame(hello, id: 1, length: 0), .protocolViolation),
                    ("a flag", frame(hello, flags: 1, length: 0), .unsupportedFlag),
                    ("no session", frame(hello, length: 1, body: [0]), .malformed),
                    ("a large frame", frame(hello, length: Limits.frameBytesBeforeWelcomeMax + 1), .frameTooLarge),
                ]
                for (what, bytes, code) in cases {
                    let connection = try ServerRawConnection(port: port)
                    try connection.send(Preface.client.bytes + bytes)
                    try Self.expect(code, connection, what)
                }
            }
        }
    }
}
