import Logging
import NIOConcurrencyHelpers
import NIOCore
import NestClient
import NestModel
import NestServerTestSupport
import NestServer
import NestProtocol
import Testing
import NestFraming

/// Runs `body` with a server that requires tokens and a client with an admin token.
func withTokens(
    _ configure: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (Int, NestClient, AccessToken) async throws -> Void
) async throws {
    try await withServer(configure) { port, _ in
        let admin = try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) { client in
            try await client.createToken(TokenGrant(name: "admin", role: .admin))
        }
        try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh, token: admin)) { client in
            try await body(port, client, admin)
        }
    }
}

/// Runs `body` with a client that has a new token with this grant.
func withGrant(
    _ grant: TokenGrant,
    _ port: Int,
    _ admin: NestClient,
    _ body: (NestClient, AccessToken) async throws -> Void
) async throws {
    let token = try await admin.createToken(grant)
    try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh, token: token)) {
        try await body($0, token)
    }
}

extension ServerRawConnection {
    /// Returns a connection that has sent HELLO with this token.
    static func knocking(port: Int, _ token: AccessToken?) throws -> ServerRawConnection {
        let connection = try ServerRawConnection(port: port)
        try connection.send(Preface.client.bytes)
        let session = Identifier128(high: 0x7465_7374, low: 1)
        try connection.send(Hello(clientName: "test", session: session, token: token).frame(id: 0))
        #expect(try connection.preface() == [1, 1, 1, 0])
        return connection
    }
}

/// Records all lines that a server logs.
final class LogCapture: Sendable {
    private let lines = NIOLockedValueBox<[String]>([])

    var text: String { self.lines.withLockedValue { $0.joined(separator: "\n") } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(capture: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let capture: LogCapture
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.level) \(event.message) \(event.metadata ?? [:])"
            self.capture.lines.withLockedValue { $0.append(line) }
        }
    }
}
