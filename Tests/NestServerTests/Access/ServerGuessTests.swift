import NIOCore
import NestClient
import NestModel
import NestSecrets
import NestServer
import NestProtocol
import Testing

extension SocketTests {
    /// Clients that guess tokens while other clients have valid ones.
    struct Guesses {
        private static func guess(_ port: Int) throws -> ServerRawConnection {
            try ServerRawConnection.knocking(port: port, AccessToken(number: 1, secret: TokenSecret.random()))
        }

        @Test func aGoodTokenIsAcceptedWhileGuessesFromItsAddressWait() async throws {
            try await withTokens { port, _, admin in
                // The first few guesses have short delays; all others wait for seconds.
                let guesses = try (0..<40).map { _ in try Self.guess(port) }
                for _ in 0..<10 {
                    let good = try ServerRawConnection.knocking(port: port, admin)
                    #expect(try good.expect(Welcome.self, id: 0).role == .admin)
                }
                for guess in guesses {
                    #expect(try guess.expectError(id: 0) == .unauthenticated)
                    #expect(try guess.frame() == nil)
                }
            }
        }

        @Test func aGoodTokenEvictsAGuess() async throws {
            try await withTokens {
                // The administrator holds one slot.
                $0.connectionsMax = 5
            } _: { port, _, admin in
                // After these guesses, the delays are several seconds.
                let early = try (0..<8).map { _ in try Self.guess(port) }
                for guess in early { _ = try guess.bytesUntilClosed() }
                let guesses = try (0..<4).map { _ in try Self.guess(port) }
                let good = try (0..<4).map { _ in try ServerRawConnection.knocking(port: port, admin) }
                for connection in good { #expect(try connection.expect(Welcome.self, id: 0).role == .admin) }
                for guess in guesses { #expect(try guess.frame() == nil) }
                // Authenticated clients keep their slots.
                let late = try ServerRawConnection(port: port)
                _ = try late.preface()
                #expect(try late.expectError(id: 0) == .busy)
            }
        }
    }
}
