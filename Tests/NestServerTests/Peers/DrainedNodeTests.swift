import NIOCore
import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// What a node does that an operator drains.
    @Suite struct DrainedNodeTests {
        private static func other(position: Int64?) -> LogNode {
            LogNode(id: Identifier128(high: 4, low: 4), name: "b", address: "", version: "", position: position)
        }

        /// Lets the log list another node, and drains the only one that runs. Returns the operator's connection.
        private func drain(port: Int, _ log: ScriptedLog) throws -> ServerRawConnection {
            log.withState { $0.others = [Self.other(position: 1_000)] }
            let (operation, _) = try ServerRawConnection.ready(port: port, session: 100)
            let drain = try operation.request(DrainNode(drains: true))
            _ = try operation.expect(Done.self, id: drain)
            return operation
        }

        @Test func itKeepsTheLinksOfOtherNodes() async throws {
            try await withLeader { port, log in
                let node = try ServerRawConnection.node(port: port, log)
                let (client, _) = try ServerRawConnection.ready(port: port, session: 1)
                _ = try self.drain(port: port, log)
                _ = try client.frames(until: .goAway)
                try node.send(Ping(payload: 7).frame(id: 0))
                #expect(try node.expect(Pong.self, id: 0).payload == 7)
            }
        }

        /// nestc asks for the model, then begins a transfer. A transfer that GOAWAY refuses may fail; the request for
        /// the model is sent again at the next node, and so the transfer begins there.
        @Test func itSendsClientsOnBeforeTheyBeginATransfer() async throws {
            try await withLeader { port, log in
                _ = try self.drain(port: port, log)
                let (client, _) = try ServerRawConnection.ready(port: port, session: 1)
                try client.request(GetModel())
                let goAway = try client.expect(GoAway.self, id: 0)
                #expect(goAway.code == .shuttingDown && goAway.lastRequestID == 0)
            }
        }

        /// Chunks of an import that it does not accept are on their way already.
        @Test func itAnswersWhatItHasAcceptedAndIgnoresPartsOfTheRest() async throws {
            try await withLeader { port, log in
                _ = try self.drain(port: port, log)
                let (client, _) = try ServerRawConnection.ready(port: port, session: 1)
                let check = try client.request(CheckRequest())
                let request = SubtreeImport(
                    entity: EntityNumber(1),
                    placement: Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last),
                    properties: [PropertyNumber(1)]
                )
                let rejected = try client.request(ImportSubtree(request))
                try client.send(SubtreeChunk(packing: [UInt8](repeating: 7, count: 5_000), nil).frame(id: rejected))
                try client.send(SubtreeEnd(rowCount: 1, checksum: 0).frame(id: rejected))
                var types: Set<UInt8> = []
                while let frame = try client.frame() {
                    types.insert(frame.type)
                    if frame.type == MessageType.goAway.rawValue {
                        #expect(try GoAway(body: frame.body).lastRequestID == check)
                    } else {
                        #expect(frame.id == check && frame.type != MessageType.error.rawValue)
                    }
                }
                #expect(types.contains(MessageType.goAway.rawValue) && types.contains(MessageType.checked.rawValue))
            }
        }

        /// Writes would wait until it has caught up.
        @Test func aLeaderIsNotDrainedInFavourOfANodeThatLags() async throws {
            try await withLeader { port, log in
                log.withState { $0.others = [Self.other(position: nil)] }
                let (operation, _) = try ServerRawConnection.ready(port: port, session: 100)
                let drain = try operation.request(DrainNode(drains: true))
                let error = try operation.expect(ErrorMessage.self, id: drain).error
                #expect(error.code == .conflict && error.message.contains("lags"))
                let (client, _) = try ServerRawConnection.ready(port: port, session: 1)
                let write = try client.request(TransactionMessage(.insert("a")))
                _ = try client.expect(ReceiptMessage.self, id: write)
                let status = try client.request(GetCluster())
                let nodes = try #require(try client.expect(Cluster.self, id: status).status).nodes
                #expect(nodes.map(\.isDrained) == [false])
                log.withState { $0.others[0].isDrained = true }
                let again = try client.request(GetCluster())
                #expect(try client.expect(Cluster.self, id: again).status?.nodes.map(\.isDrained) == [true])
            }
        }
    }
}
