import NIOCore
import NestClient
import NestModel
import NestSecrets
import NestServer
import NestProtocol
import Testing

extension SocketTests {
    /// Clients that guess tokens, beside clients that have good ones.
    struct Guesses {
        private static func guess(_ port: Int) throws -> ServerRawConnection {
            try ServerRawConnection.knocking(port: port, AccessToken(number: 1, secret: TokenSecret.random()))
        }

        @Test func aGoodTokenIsLetInWhileManyGuessesOfItsAddressWait() async throws {
            try await withTokens { port, _, admin in
                // The delays of the first few are short; all others wait for seconds.
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
                // One place is the administrator's.
                $0.connectionsMax = 5
            } _: { port, _, admin in
                // So many that those which hold the places wait for seconds.
                let early = try (0..<8).map { _ in try Self.guess(port) }
                for guess in early { _ = try guess.bytesUntilClosed() }
                let guesses = try (0..<4).map { _ in try Self.guess(port) }
                let good = try (0..<4).map { _ in try ServerRawConnection.knocking(port: port, admin) }
                for connection in good { #expect(try connection.expect(Welcome.self, id: 0).role == .admin) }
                for guess in guesses { #expect(try guess.frame() == nil) }
                // A client keeps its place.
                let late = try ServerRawConnection(port: port)
                _ = try late.preface()
                #expect(try late.expectError(id: 0) == .busy)
            }
        }
    }
}
