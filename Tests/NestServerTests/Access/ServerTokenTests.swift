import Foundation
import NIOCore
import NestClient
import NestModel
import NestServerTestSupport
import NestSecrets
import NestServer
import NestStore
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

/// Authentication by tokens, and the errors for refused tokens.
extension SocketTests {
    struct Tokens {
        private static let forged = AccessToken(number: 1, secret: TokenSecret.random())

        @Test func theFirstTokenMustBeAdminAndEndsAccessWithoutTokens() async throws {
            try await withServer { port, _ in
                let early = try ServerRawConnection.ready(port: port, session: 5).0
                try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) { client in
                    let refused = await refusal { _ = try await client.createToken(TokenGrant(name: "r", role: .read)) }
                    #expect(refused?.code == .invalid)
                    _ = try await client.createToken(TokenGrant(name: "admin", role: .admin))
                }
                // The first token closes connections without a token, and new connections need one.
                #expect(try early.expectError(id: 0) == .unauthenticated)
                #expect(try early.frame() == nil)
                let late = try ServerRawConnection.knocking(port: port, nil)
                #expect(try late.expectError(id: 0) == .unauthenticated)
            }
        }

        /// No token, an unknown number, a wrong secret and a revoked token get the same bytes, and then the server
        /// closes.
        @Test func everyRefusedTokenGetsTheSameError() async throws {
            try await withTokens { port, client, admin in
                let revoked = try await client.createToken(TokenGrant(name: "revoked", role: .read))
                try await client.revokeToken(revoked.number)
                var answers: Set<[UInt8]> = []
                let wrong = TokenSecret(high: admin.secret.high, low: Self.forged.secret.low)
                let attempts: [AccessToken?] = [
                    nil, Self.forged, AccessToken(number: 99, secret: admin.secret),
                    AccessToken(number: admin.number, secret: wrong), AccessToken(number: 0, secret: wrong), revoked,
                ]
                for token in attempts {
                    let connection = try ServerRawConnection.knocking(port: port, token)
                    // The request is not executed.
                    try? connection.send(GetModel().frame(id: 1))
                    let frame = try #require(try connection.frame())
                    #expect(frame.type == MessageType.error.rawValue && frame.id == 0)
                    #expect(try ErrorMessage(body: frame.body).error.code == .unauthenticated)
                    answers.insert(Array(frame.body.readableBytesView))
                    #expect(try connection.frame() == nil)
                }
                #expect(answers.count == 1)
                #expect(try ServerRawConnection.knocking(port: port, admin).expect(Welcome.self, id: 0).role == .admin)
            }
        }

        /// Frames that arrive before or instead of HELLO execute nothing and get at most one short error.
        @Test func bytesBeforeAuthenticationExecuteNothing() async throws {
            let seed = UInt64.random(in: .min ... .max)
            var random = SeededRandom(seed: seed)
            try await withTokens { port, client, _ in
                for round in 0..<60 {
                    let connection = try ServerRawConnection(port: port)
                    try connection.send(Preface.client.bytes)
                    var bytes = ByteBuffer()
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        let type = MessageType.allCases.randomElement(using: &random)!
                        let body = (0..<Int.random(in: 0...64, using: &random)).map { _ in
                            UInt8.random(in: 0...255, using: &random)
                        }
                        bytes.writeFrame(type: type, id: UInt32.random(in: 0...3, using: &random), body: body)
                    }
                    try connection.send(bytes)
                    _ = try connection.preface()
                    var byteCount = 0
                    while let frame = try connection.frame() {
                        #expect(frame.type == MessageType.error.rawValue, "seed \(seed), round \(round)")
                        byteCount += Frame.headerBytes + frame.body.readableBytes
                    }
                    #expect(byteCount <= 4_096, "seed \(seed), round \(round)")
                }
                let statistics = try await client.statistics()
                #expect(statistics.first { $0.name == "writes" }?.value == 0)
            }
        }

        /// A role refuses each request that it does not allow, whatever the body.
        @Test(arguments: [AccessRole.read, .write])
        func rolesAllowExactlyTheirRequests(_ role: AccessRole) async throws {
            let reading: Set<MessageType> = [
                .fetch, .getObject, .fetchSubtree, .subscribe, .resubscribe, .unsubscribe, .getModel, .getUndoState,
                .getHistory, .previewUndo, .subscribeChanges, .getStatistics, .explain, .getCluster,
                .parsePredicate,
            ]
            let writing: Set<MessageType> = [
                .transaction, .importSubtree, .undo, .redo, .beginGroup, .endGroup, .revert,
            ]
            let administering: Set<MessageType> = [
                .createToken, .listTokens, .revokeToken, .backup, .check, .getClients, .kick, .verifyCluster,
                .moveLeader, .drainNode, .applyModel,
            ]
            try await withTokens { port, client, _ in
                let token = try await client.createToken(TokenGrant(name: "t", role: role))
                let connection = try ServerRawConnection.knocking(port: port, token)
                #expect(try connection.expect(Welcome.self, id: 0).role == role)
                let refused = role == .read ? writing.union(administering) : administering
                var id: UInt32 = 0
                for type in reading.union(writing).union(administering).sorted(by: { $0.rawValue < $1.rawValue }) {
                    // An accepted import does not end here.
                    guard type != .importSubtree || refused.contains(type) else { continue }
                    id += 1
                    var frame = ByteBuffer()
                    frame.writeFrame(type: type, id: id, body: [])
                    try connection.send(frame)
                    let answer = try #require(try connection.frame(), "\(type)")
                    let code =
                        answer.type == MessageType.error.rawValue
                        ? try ErrorMessage(body: answer.body).error.code : nil
                    #expect((code == .notPermitted) == refused.contains(type), "\(type)")
                }
            }
        }

        @Test func aRevokedTokenEndsItsConnectionsAtOnce() async throws {
            try await withTokens { port, client, admin in
                let token = try await client.createToken(TokenGrant(name: "t", role: .write))
                let connection = try ServerRawConnection.knocking(port: port, token)
                _ = try connection.expect(Welcome.self, id: 0)
                #expect(try await client.tokens().map(\.connections) == [1, 1])
                try await client.revokeToken(token.number)
                #expect(try connection.expectError(id: 0) == .unauthenticated)
                #expect(try connection.frame() == nil)
                #expect(await refusal { try await client.revokeToken(token.number) }?.code == .notFound)
                // The last admin token cannot be revoked: it would lock out all clients.
                #expect(await refusal { try await client.revokeToken(admin.number) }?.code == .conflict)
                let next = try await client.createToken(TokenGrant(name: "next", role: .admin))
                #expect(next.number > token.number)
                try await client.revokeToken(admin.number)
                #expect(await refusal { _ = try await client.tokens() }?.code == .unauthenticated)
            }
        }

        @Test func theLowerOfTokenAndServerLimitApplies() async throws {
            try await withTokens { port, client, _ in
                let limits = TokenLimits(connections: 1, requestsInFlight: 3, subscriptions: 2, outputBytes: 1 << 40)
                let token = try await client.createToken(TokenGrant(name: "t", role: .read, limits: limits))
                let connection = try ServerRawConnection.knocking(port: port, token)
                let welcome = try connection.expect(Welcome.self, id: 0)
                #expect(welcome.requestsInFlightMax == 3)
                #expect(welcome.subscriptionsMax == 2)
                let second = try ServerRawConnection.knocking(port: port, token)
                #expect(try second.expectError(id: 0) == .limitExceeded)
                var codes: [ErrorCode?] = []
                for id in 1...UInt32(3) {
                    try connection.send(Subscribe(ObjectFetchRequest.rootChildren).frame(id: id))
                    let answer = try #require(
                        try connection.frames(until: id == 3 ? .error : .subscribed).last
                    )
                    codes.append(id == 3 ? try ErrorMessage(body: answer.body).error.code : nil)
                }
                #expect(codes == [nil, nil, .limitExceeded])
            }
        }

        /// Neither the store nor the log contains a secret.
        @Test func secretsAreNeitherLoggedNorStored() async throws {
            let directory = TemporaryDirectory()
            let log = LogCapture()
            var configuration = ServerConfiguration(
                host: "127.0.0.1",
                port: 0,
                store: .init(location: .file("\(directory.path)/nest.sqlite"), model: .nestedList),
                serverName: "test"
            )
            configuration.timing.sweep = .milliseconds(20)
            let server = Server(configuration, logger: log.logger)
            let port = try await server.start().port
            let admin = try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) { client in
                try await client.createToken(TokenGrant(name: "admin", role: .admin))
            }
            try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh, token: admin)) { client in
                _ = try await client.model()
            }
            let wrong = try ServerRawConnection.knocking(port: port, AccessToken(number: 1, secret: Self.forged.secret))
            #expect(try wrong.expectError(id: 0) == .unauthenticated)
            try await server.stop()

            var secret = ByteWriter()
            secret.write(tokenSecret: admin.secret)
            let store = [UInt8](try Data(contentsOf: URL(filePath: "\(directory.path)/nest.sqlite")))
            let digits = admin.secret.high.hex
            #expect(!store.contains(secret.bytes) && !store.contains(Array(digits.utf8)))
            for text in [digits, admin.secret.low.hex, Self.forged.secret.high.hex, Self.forged.secret.low.hex] {
                #expect(!log.text.contains(text))
            }
            #expect(log.text.contains("login.refused"))
            #expect(log.text.contains("token.created"))
            #expect("\(admin) \(admin.secret)" == "token 1 secret")
        }
    }
}
