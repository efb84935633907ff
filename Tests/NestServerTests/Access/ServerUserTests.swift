import NIOConcurrencyHelpers
import NIOCore
import NestClient
import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestTestSupport
import Testing

/// Users and the expiry of tokens, over real sockets. The tests set the clock that expires tokens.
extension SocketTests {
    struct Users {
        private static let day: Int64 = 86_400_000_000
        /// Later than any real clock that the store compares an expiry with.
        private static let future: Int64 = 253_000_000_000_000_000

        /// Runs `body` with a server whose clock for expiries begins at 0, and a function that sets it.
        private func withClock(
            _ body: (Int, NestClient, AccessToken, (Int64) -> Void) async throws -> Void
        ) async throws {
            let time = NIOLockedValueBox<Int64>(0)
            try await withTokens({ $0.now = { time.withLockedValue { $0 } } }) { port, admin, token in
                try await body(port, admin, token) { now in time.withLockedValue { $0 = now } }
            }
        }

        private static func grant(_ name: String = "t", user: String = "") -> TokenGrant {
            TokenGrant(name: name, role: .write, user: user, expires: Self.future)
        }

        // MARK: Expiry

        @Test func anExpiredTokenEndsItsConnections() async throws {
            try await self.withClock { port, admin, _, setTime in
                let token = try await admin.createToken(Self.grant())
                let connection = try ServerRawConnection.knocking(port: port, token)
                let welcome = try connection.expect(Welcome.self, id: 0)
                #expect(welcome.tokenExpires == Self.future)
                // Another connection, without expiry, stays.
                let other = try await admin.createToken(TokenGrant(name: "other", role: .read))
                let staying = try ServerRawConnection.knocking(port: port, other)
                #expect(try staying.expect(Welcome.self, id: 0).tokenExpires == nil)
                setTime(Self.future - 1)
                try connection.send(Ping(payload: 1).frame(id: 0))
                #expect(try connection.expect(Pong.self, id: 0).payload == 1)
                setTime(Self.future)
                #expect(try connection.expectError(id: 0) == .tokenExpired)
                #expect(try connection.frame() == nil)
                try staying.send(Ping(payload: 2).frame(id: 0))
                #expect(try staying.expect(Pong.self, id: 0).payload == 2)
            }
        }

        /// The right secret of an expired token gets TOKEN_EXPIRED; a wrong one the same bytes as any wrong secret.
        @Test func anExpiredTokenIsRefusedAtLogin() async throws {
            try await self.withClock { port, admin, good, setTime in
                let token = try await admin.createToken(Self.grant())
                setTime(Self.future + Self.day)
                let late = try ServerRawConnection.knocking(port: port, token)
                #expect(try late.expectError(id: 0) == .tokenExpired)
                #expect(try late.frame() == nil)
                let wrong = TokenSecret(high: good.secret.high, low: token.secret.low)
                var answers: Set<[UInt8]> = []
                for token in [AccessToken(number: token.number, secret: wrong), AccessToken(number: 99, secret: wrong)]
                {
                    let frame = try #require(try ServerRawConnection.knocking(port: port, token).frame())
                    #expect(try ErrorMessage(body: frame.body).error.code == .unauthenticated)
                    answers.insert(Array(frame.body.readableBytesView))
                }
                #expect(answers.count == 1)
                // It is listed until it is revoked, and its secret then means nothing.
                #expect(try await admin.tokens().map(\.grant.expires) == [nil, Self.future])
                try await admin.revokeToken(token.number)
                let revoked = try ServerRawConnection.knocking(port: port, token)
                #expect(try revoked.expectError(id: 0) == .unauthenticated)
            }
        }

        @Test func theClientEndsWithTheCodeOfAnExpiredToken() async throws {
            try await self.withClock { port, admin, _, setTime in
                let token = try await admin.createToken(Self.grant())
                let client = NestClient(ClientConfiguration(port: port, session: .fresh, token: token))
                try await client.connect()
                #expect(await client.server?.tokenExpires == Self.future)
                setTime(Self.future)
                await #expect(throws: NestError.self) {
                    try await client.withFetchedResults(.rootChildren) { results in for try await _ in results {} }
                }
                let error = await refusal { _ = try await client.model() }
                #expect(error?.code == .tokenExpired && error?.message.contains("expired") == true)
                await client.close()
                let again = await refusal {
                    try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh, token: token)) {
                        _ in
                    }
                }
                #expect(again?.code == .tokenExpired)
            }
        }

        /// An expiry that is not ahead is refused; one that is out of every range is refused by the client.
        @Test(arguments: [Int64.min, -1, 0, 1, 1 << 61, 1 << 62, Int64.max])
        func anExpiryThatIsNotAheadIsRefused(_ expires: Int64) async throws {
            try await withTokens { _, admin, _ in
                let grant = TokenGrant(name: "t", role: .read, expires: expires)
                #expect(await refusal { _ = try await admin.createToken(grant) }?.code == .invalid)
                let tokens = try await admin.tokens()
                #expect(tokens.count == 1)
            }
        }

        // MARK: Users

        @Test func theLabelOfATokenIsItsUserAndOtherwiseItsName() async throws {
            try await withTokens { port, admin, _ in
                for (grant, user) in [
                    (TokenGrant(name: "phone", role: .write, user: "Ann"), "Ann"),
                    (TokenGrant(name: "phone", role: .write), "phone"),
                ] {
                    try await withGrant(grant, port, admin) { client, _ in
                        #expect(await client.server?.user == user)
                        _ = try await client.transaction(.insert("x"))
                        let mine = try await client.history(before: nil, limit: 1, onlyMine: true)
                        #expect(mine.first?.user == UserLabel(user))
                        let listed = try await admin.clients()
                        #expect(listed.contains { $0.user == UserLabel(user) })
                    }
                }
            }
        }

        /// A client with a token cannot claim to be another user.
        @Test func theLabelOfATokenWins() async throws {
            try await withTokens { port, admin, _ in
                let token = try await admin.createToken(TokenGrant(name: "t", role: .write, user: "Ann"))
                var configuration = ClientConfiguration(port: port, session: .fresh, token: token)
                configuration.user = "Bob"
                try await NestClient.withClient(configuration) { client in
                    #expect(await client.server?.user == "Ann")
                }
            }
        }

        /// What a client without a token says is marked as a claim, and harmless on a terminal.
        @Test func aClaimIsMarkedAndPrintable() async throws {
            try await withServer { port, _ in
                var configuration = ClientConfiguration(port: port, session: .fresh)
                configuration.user = "A\u{1b}[2J\u{200b}n\u{202e}n\n"
                let shown = "A\u{fffd}[2J\u{fffd}n\u{fffd}n\u{fffd}"
                try await NestClient.withClient(configuration) { client in
                    #expect(await client.server?.user == shown)
                    _ = try await client.transaction(.insert("x"))
                    let claim = UserLabel(shown, isClaimed: true)
                    #expect(try await client.history(before: nil, limit: 1, onlyMine: true).first?.user == claim)
                    #expect(try await client.clients().map(\.user) == [claim])
                }
                configuration.user = String(repeating: "\u{1}", count: Limits.nameBytesMax)
                try await NestClient.withClient(configuration) { client in
                    #expect(await client.server?.user == String(repeating: "\u{fffd}", count: Limits.nameBytesMax / 3))
                }
                configuration.user = ""
                try await NestClient.withClient(configuration) { client in
                    #expect(await client.server?.user == nil)
                    _ = try await client.transaction(.insert("x"))
                    let entries = try await client.history(before: nil, limit: 1, onlyMine: true)
                    #expect(entries.count == 1 && entries[0].user == nil)
                }
            }
        }

        @Test func changesArriveWithTheirAuthors() async throws {
            try await withTokens { port, admin, token in
                let writer = try await admin.createToken(TokenGrant(name: "t", role: .write, user: "Ann"))
                for followsAuthors in [true, false] {
                    var configuration = ClientConfiguration(port: port, session: .fresh, token: token)
                    configuration.followsAuthors = followsAuthors
                    try await NestClient.withClient(configuration) { follower in
                        try await follower.withFetchedResults(.rootChildren) { results in
                            for try await change in results {
                                if case .snapshot = change {
                                    try await NestClient.withClient(
                                        ClientConfiguration(port: port, session: .fresh, token: writer)
                                    ) {
                                        _ = try await $0.transaction(.insert("x"))
                                    }
                                }
                                guard case .diff(let diff) = change else { continue }
                                #expect(diff.authors.map(\.user) == (followsAuthors ? [UserLabel("Ann")] : []))
                                #expect(diff.authors.allSatisfy { $0.revision == diff.to })
                                return
                            }
                        }
                    }
                }
            }
        }
    }
}
