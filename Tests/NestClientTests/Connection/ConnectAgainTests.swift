import NestClient
import NestModel
import NestProtocol
import Testing

extension SocketTests {
    /// Calls that need a connection of their own, when it was lost just before.
    struct ConnectAgainTests {
        /// Runs `body` with a client whose server is gone: it accepts connections, and answers nothing any more.
        private static func withLostServer(_ body: @Sendable @escaping (NestClient) async throws -> Void) async throws {
            let (lost, isLost) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                guard server.number == 0 else {
                    isLost.yield()
                    return await server.untilClosed()
                }
                try await server.welcome()
            } client: { port in
                let configuration = Fixtures.configuration(port, timeout: .milliseconds(300))
                try await NestClient.withClient(configuration) { client in
                    for await _ in lost { break }
                    try await body(client)
                }
            }
        }

        @Test func aTransferWaitsForAConnectionWithinItsTime() async throws {
            try await Self.withLostServer { client in
                let backup = await #expect(throws: NestError.self) { try await client.backup { _ in } }
                #expect(backup?.code == .unreachable, "\(String(describing: backup))")
                let ping = await #expect(throws: NestError.self) { _ = try await client.ping() }
                #expect(ping?.code == .unreachable, "\(String(describing: ping))")
            }
        }

        @Test func waitingForAConnectionCanBeCancelled() async throws {
            try await Self.withLostServer { client in
                let waiting = Task { try await client.connect() }
                waiting.cancel()
                let error = await #expect(throws: NestError.self) { try await waiting.value }
                #expect(error?.code == .cancelled, "\(String(describing: error))")
            }
        }
    }
}
