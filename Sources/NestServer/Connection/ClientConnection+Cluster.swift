import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// The requests about the cluster.
extension ClientConnection {
    func describeCluster(id: UInt32, _ message: GetCluster) {
        let promise = self.loop.eventLoop.makePromise(of: Result<ClusterStatus?, NestError>.self)
        if let cluster = self.server.configuration.cluster {
            cluster.status(message.mark) { promise.succeed($0.map { Self.cut($0) }) }
        } else {
            promise.succeed(.success(nil))
        }
        self.answer(id, promise.futureResult) { connection, result in
            switch result {
            case .success(let status): connection.send(Cluster(status).frame(id: id))
            case .failure(let error): connection.refuse(id: id, error)
            }
        }
    }

    func verifyCluster(id: UInt32) {
        self.ask(
            id,
            { (cluster, reply) in cluster.verify(reply) },
            then: { connection, position in connection.send(ClusterMark(position: position).frame(id: id)) }
        )
    }

    func moveLead(id: UInt32, _ message: MoveLeader) {
        self.ask(
            id,
            { (cluster, reply) in cluster.moveLead(message.node, reply) },
            then: { connection, _ in connection.send(Done().frame(id: id)) }
        )
    }

    func drainNode(id: UInt32, _ message: DrainNode) {
        let by = self.id
        self.ask(
            id,
            { (cluster, reply) in cluster.drain(message.drains, by, reply) },
            then: { connection, _ in connection.send(Done().frame(id: id)) }
        )
    }

    /// Asks the replication of the node, and answers a request with its reply.
    private func ask<Value: Sendable>(
        _ id: UInt32,
        _ question: (ClusterAnswers, @escaping ClusterAnswers.Reply<Value>) -> Void,
        then answer: @escaping @Sendable (ClientConnection, Value) -> Void
    ) {
        let promise = self.loop.eventLoop.makePromise(of: Result<Value, NestError>.self)
        if let cluster = self.server.configuration.cluster {
            question(cluster) { promise.succeed($0) }
        } else {
            promise.succeed(.failure(ClusterAnswers.noNode))
        }
        self.answer(id, promise.futureResult) { connection, result in
            switch result {
            case .success(let value): answer(connection, value)
            case .failure(let error): connection.refuse(id: id, error)
            }
        }
    }

    /// Cuts lists and texts to what a client accepts.
    private static func cut(_ status: ClusterStatus) -> ClusterStatus {
        var status = status
        status.log = LogText.cut(status.log, bytesMax: Limits.clusterTextBytesMax)
        status.logFault = status.logFault.map { LogText.cut($0, bytesMax: Limits.clusterTextBytesMax) }
        status.nodes = Array(status.nodes.prefix(Limits.clusterNodesMax))
        status.verifications = Array(status.verifications.prefix(Limits.clusterNodesMax))
        for index in status.nodes.indices {
            let node = status.nodes[index]
            status.nodes[index].name = LogText.cut(node.name, bytesMax: Limits.nodeAddressBytesMax)
            status.nodes[index].address = LogText.cut(node.address, bytesMax: Limits.nodeAddressBytesMax)
            status.nodes[index].version = LogText.cut(node.version, bytesMax: Limits.nameBytesMax)
        }
        return status
    }
}
