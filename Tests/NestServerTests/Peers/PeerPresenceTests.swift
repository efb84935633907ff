import NestClient
import NestFraming
import NestModel
import NestProtocol
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// PEER_PRESENCE over real sockets: what a node says reaches the leader's clients, and the other way round.
    struct PeerPresenceTests {
        private static let scope = ObjectID(1)

        @Test func nodeAndLeaderExchangePresences() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                let (client, _) = try ServerRawConnection.ready(port: port, session: 900)
                let follow = try client.request(FollowPresence(scope: Self.scope, follows: true))
                _ = try client.expect(Done.self, id: follow)
                #expect(try client.expect(PresenceMessage.self, id: 0).changes.isEmpty)
                // What the node says first.
                let state = PresenceState(number: 1 << 52, sessionNumber: 7, user: UserLabel("Ann"), bytes: [1])
                let session = Identifier128(high: 8, low: 8)
                let change = PeerPresence.Change(
                    scope: Self.scope,
                    number: state.number,
                    session: session,
                    revision: Revision(0),
                    state
                )
                try node.send(PeerPresence(begins: true, [change]).frame(id: 0))
                #expect(try client.expect(PresenceMessage.self, id: 0).changes == [.init(state)])
                let first = try node.expect(PeerPresence.self, id: 0)
                #expect(first.begins && first.changes.isEmpty)
                // What the leader's client shows.
                let set = try client.request(SetPresence(scope: Self.scope, bytes: [2]))
                let number = try client.expect(Present.self, id: set).number
                let heard = try node.expect(PeerPresence.self, id: 0)
                #expect(!heard.begins && heard.changes.map(\.number) == [number] && number != state.number)
                #expect(heard.changes.map { $0.state?.bytes } == [[2]])
            }
        }

        /// A client that is no node cannot speak for others: the server skips the message, like every type from 80 on.
        @Test func onlyNodesSpeakForOthers() async throws {
            try await withServer { port, _ in
                let (client, _) = try ServerRawConnection.ready(port: port, session: 1)
                let follow = try client.request(FollowPresence(scope: Self.scope, follows: true))
                _ = try client.expect(Done.self, id: follow)
                #expect(try client.expect(PresenceMessage.self, id: 0).isWhole)
                let change = PeerPresence.Change(
                    scope: Self.scope,
                    number: 5,
                    session: Identifier128(high: 0, low: 1),
                    revision: Revision(0),
                    PresenceState(number: 5)
                )
                try client.send(PeerPresence(begins: true, [change]).frame(id: 0))
                let set = try client.request(SetPresence(scope: Self.scope, bytes: []))
                let number = try client.expect(Present.self, id: set).number
                let next = try client.expect(PresenceMessage.self, id: 0)
                #expect(next.changes.map(\.number) == [number])
            }
        }

        /// A client whose token is revoked is gone at once.
        @Test func aRevokedClientIsNotPresentAnyMore() async throws {
            try await withTokens { port, admin, adminToken in
                let token = try await admin.createToken(TokenGrant(name: "guest", role: .read, user: "Guest"))
                let guest = try ServerRawConnection.knocking(port: port, token)
                _ = try guest.expect(Welcome.self, id: 0)
                let watcher = try ServerRawConnection.knocking(port: port, adminToken)
                _ = try watcher.expect(Welcome.self, id: 0)
                let follow = try watcher.request(FollowPresence(scope: Self.scope, follows: true))
                _ = try watcher.expect(Done.self, id: follow)
                #expect(try watcher.expect(PresenceMessage.self, id: 0).changes.isEmpty)
                let set = try guest.request(SetPresence(scope: Self.scope, bytes: [1]))
                let number = try guest.expect(Present.self, id: set).number
                let shown = try watcher.expect(PresenceMessage.self, id: 0).changes
                #expect(shown.map { $0.state?.user } == [UserLabel("Guest")])
                try await admin.revokeToken(token.number)
                #expect(try watcher.expect(PresenceMessage.self, id: 0).changes == [.init(gone: number)])
            }
        }
    }
}
