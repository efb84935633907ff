import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import Testing

extension SocketTests {
    /// Requests about the cluster, over a real socket.
    @Suite struct ServerClusterTests {
        @Test func aSingleNodeSaysThatItIsNone() async throws {
            try await withServer { port, _ in
                let (connection, welcome) = try ServerRawConnection.ready(port: port)
                #expect(welcome.replica == nil)
                let status = try connection.request(GetCluster())
                #expect(try connection.expect(Cluster.self, id: status).status == nil)
                let verify = try connection.request(VerifyCluster())
                let error = try connection.expect(ErrorMessage.self, id: verify).error
                #expect(error.code == .unsupported && error.message.contains("not a node of a cluster"))
            }
        }

        /// Longer lists and texts than a client accepts are cut.
        @Test func aNodeAnswersWithWhatItsReplicationKnows() async throws {
            let long = String(repeating: "é", count: 1_000)
            let node = ClusterStatus.Node(
                id: Identifier128(high: 0, low: 1),
                name: long,
                address: long,
                version: long,
                role: .leader
            )
            try await withServer {
                $0.cluster = ClusterAnswers(
                    status: { mark, reply in
                        var status = ClusterStatus(
                            store: "default",
                            node: "a",
                            role: .leader,
                            epoch: 3,
                            position: mark,
                            head: mark
                        )
                        status.log = long
                        status.nodes = Array(repeating: node, count: Limits.clusterNodesMax + 1)
                        reply(.success(status))
                    },
                    verify: { $0(.success(42)) }
                )
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let verify = try connection.request(VerifyCluster())
                #expect(try connection.expect(ClusterMark.self, id: verify).position == 42)
                let request = try connection.request(GetCluster(mark: 42))
                let status = try #require(try connection.expect(Cluster.self, id: request).status)
                #expect(status.position == 42 && status.nodes.count == Limits.clusterNodesMax)
                #expect(status.log.utf8.count <= Limits.clusterTextBytesMax && status.log.hasPrefix("éé"))
                #expect(status.nodes[0].address.utf8.count <= Limits.nodeAddressBytesMax)
            }
        }

        @Test func operatorsMoveTheLeadAndDrainANode() async throws {
            try await withServer {
                $0.cluster = ClusterAnswers(
                    status: { _, reply in reply(.failure(NestError(.storageFailure, "x"))) },
                    verify: { $0(.success(1)) },
                    moveLead: { node, reply in
                        reply(node == "b" ? .success(()) : .failure(NestError(.notFound, "no \(node)")))
                    },
                    drain: { drains, by, reply in
                        reply(drains && by.rawValue > 0 ? .success(()) : .failure(NestError(.conflict, "no")))
                    }
                )
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let move = try connection.request(MoveLeader(node: "b"))
                _ = try connection.expect(Done.self, id: move)
                let unknown = try connection.request(MoveLeader(node: "x"))
                #expect(try connection.expect(ErrorMessage.self, id: unknown).error == NestError(.notFound, "no x"))
                let drain = try connection.request(DrainNode(drains: true))
                _ = try connection.expect(Done.self, id: drain)
                let end = try connection.request(DrainNode(drains: false))
                #expect(try connection.expect(ErrorMessage.self, id: end).error.code == .conflict)
            }
            try await withServer { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                for id in [
                    try connection.request(MoveLeader(node: "b")), try connection.request(DrainNode(drains: true)),
                ] {
                    #expect(try connection.expect(ErrorMessage.self, id: id).error.code == .unsupported)
                }
            }
        }

        @Test func aFollowerNamesTheLeaderWhenItCannotVerify() async throws {
            try await withServer {
                $0.cluster = ClusterAnswers(
                    status: { _, reply in reply(.failure(NestError(.storageFailure, "x"))) },
                    verify: { $0(.failure(NestError(.notLeader, "b leads", leader: "b:7000"))) }
                )
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let verify = try connection.request(VerifyCluster())
                let refusal = try connection.expect(ErrorMessage.self, id: verify)
                #expect(refusal.error == NestError(.notLeader, "b leads", leader: "b:7000"))
                #expect(refusal.retry == .reconnect)
                let status = try connection.request(GetCluster())
                #expect(try connection.expect(ErrorMessage.self, id: status).error.code == .storageFailure)
            }
        }
    }
}
