import NestClient
import NestModel
import NestServer
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// A client that goes to the leader of a cluster makes the same demands on it as on the server of its user.
    @Suite struct FollowingLeaderTests {
        private let directory = TemporaryDirectory()
        private let authority: TestAuthority
        private let other: TestAuthority

        init() throws {
            self.authority = try TestAuthority("authority", in: self.directory)
            self.other = try TestAuthority("other", in: self.directory)
        }

        private static func tls(_ identity: TestAuthority.Identity) throws -> ServerTLS {
            try ServerTLS(.init(certificate: identity.certificateFile, key: identity.keyFile, clientAuthority: nil))
        }

        /// Runs `body` with a client of a follower, and the port of the leader that the follower names.
        private func withCluster(
            follower: TestAuthority.Identity,
            leader: TestAuthority.Identity,
            serverName: String? = nil,
            _ body: (NestClient, Int) async throws -> Void
        ) async throws {
            let (followerTLS, leaderTLS) = (try Self.tls(follower), try Self.tls(leader))
            let status = ClusterStatus(store: "s", node: "n", role: .follower, epoch: 1, position: 1, head: 1)
            try await withServer {
                $0.tls = leaderTLS
                $0.cluster = ClusterAnswers(status: { $1(.success(status)) }, verify: { $0(.success(42)) })
            } _: { leaderPort, _ in
                let refusal = NestError(.notLeader, "another node leads", leader: "localhost:\(leaderPort)")
                try await withServer {
                    $0.tls = followerTLS
                    $0.cluster = ClusterAnswers(status: { $1(.success(status)) }, verify: { $0(.failure(refusal)) })
                } _: { port, _ in
                    var configuration = ClientConfiguration(host: "localhost", port: port, session: .fresh)
                    configuration.tls = ClientTLS(authorityFile: self.authority.file, serverName: serverName)
                    try await NestClient.withClient(configuration) { try await body($0, leaderPort) }
                }
            }
        }

        @Test func aLeaderThatProvesItselfIsFollowed() async throws {
            let identity = try self.authority.identity("server")
            try await self.withCluster(follower: identity, leader: identity) { client, leaderPort in
                let mark = try await client.verifyCluster()
                #expect(mark == 42)
                #expect(await client.address == ServerAddress(host: "localhost", port: leaderPort))
            }
        }

        @Test func theNameThatTheUserGaveIsDemandedOfTheLeaderToo() async throws {
            let named = try self.authority.identity("named", host: "nest.lab")
            try await self.withCluster(follower: named, leader: named, serverName: "nest.lab") { client, _ in
                let mark = try await client.verifyCluster()
                #expect(mark == 42)
            }
            let unnamed = try self.authority.identity("unnamed")
            try await self.withCluster(follower: named, leader: unnamed, serverName: "nest.lab") { client, _ in
                let error = await refusal { _ = try await client.verifyCluster() }
                #expect(error?.code == .notLeader && error?.message.contains("nest.lab") == true, "\(error as Any)")
            }
        }

        /// The client goes on at the server of its user, and says what is wrong with the leader.
        @Test func aLeaderOfAnotherAuthorityIsNotFollowed() async throws {
            let good = try self.authority.identity("good")
            let stranger = try self.other.identity("stranger")
            try await self.withCluster(follower: good, leader: stranger) { client, leaderPort in
                let error = await refusal { _ = try await client.verifyCluster() }
                #expect(error?.code == .notLeader, "\(error as Any)")
                #expect(error?.message.contains("cannot use the leader") == true, "\(error as Any)")
                let status = try await client.cluster()
                #expect(status?.node == "n")
                #expect(await client.address.port != leaderPort)
            }
        }
    }
}
