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
        let promise = self.loop.eventLoop.makePromise(of: Result<Int64, NestError>.self)
        if let cluster = self.server.configuration.cluster {
            cluster.verify { promise.succeed($0) }
        } else {
            promise.succeed(.failure(NestError(.unsupported, "this server is not a node of a cluster")))
        }
        self.answer(id, promise.futureResult) { connection, result in
            switch result {
            case .success(let position): connection.send(ClusterMark(position: position).frame(id: id))
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
