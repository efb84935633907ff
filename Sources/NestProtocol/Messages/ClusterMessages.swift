import NestModel

/// Requests the state of the server's cluster. For operators.
package struct GetCluster: Query, Equatable {
    package typealias Answer = Cluster
    package static let type = MessageType.getCluster
    /// The position of a mark: the answer contains what the nodes found there. 0: none.
    package var mark: Int64

    package init(mark: Int64 = 0) {
        self.mark = mark
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.mark = Int64(try reader.varint("mark"))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(position: self.mark)
    }
}

/// The reply: the state of the cluster, or no field at all from a server that is not a node of one.
package struct Cluster: Message, Equatable {
    package static let type = MessageType.cluster
    package var status: ClusterStatus?

    package init(_ status: ClusterStatus?) {
        self.status = status
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        var status = ClusterStatus(store: "", node: "", role: .follower, epoch: 0, position: 0, head: 0)
        var isNode = false
        try TaggedFields.read(from: &reader) { number, field throws(DecodingFailure) in
            switch number {
            case 1:
                status.store = try field.string("store", max: Limits.nameBytesMax)
                isNode = true
            case 2: status.node = try field.string("node", max: Limits.nodeAddressBytesMax)
            case 3: status.role = ReplicaRole(rawValue: try field.byte("role")) ?? .follower
            case 4: status.epoch = Int64(try field.varint("epoch"))
            case 5: status.position = Int64(try field.varint("position"))
            case 6: status.head = Int64(try field.varint("head"))
            case 7: status.lag = Int64(try field.varint("lag"))
            case 8: status.base = Int64(try field.varint("base"))
            case 9: status.log = try field.string("log", max: Limits.clusterTextBytesMax)
            case 10: status.logFault = try field.string("fault", max: Limits.clusterTextBytesMax)
            case 11: status.snapshot = try field.clusterSnapshot()
            case 12:
                for _ in 0..<(try field.count("nodes", max: Limits.clusterNodesMax, bytesEach: 23)) {
                    status.nodes.append(try field.clusterNode())
                }
            case 13:
                for _ in 0..<(try field.count("verifications", max: Limits.clusterNodesMax, bytesEach: 32)) {
                    let node = try field.identifier("node")
                    status.verifications.append(.init(node: node, digest: try field.identifier("digest")))
                }
            case 14: status.isDrained = try field.byte("drained") != 0
            default: break
            }
        }
        self.status = isNode ? status : nil
    }

    package func encode(into writer: inout ByteWriter) {
        var fields = TaggedFields()
        if let status {
            fields.add(1) { $0.write(string: status.store) }
            fields.add(2) { $0.write(string: status.node) }
            fields.add(3) { $0.write(byte: status.role.rawValue) }
            fields.add(4) { $0.write(position: status.epoch) }
            fields.add(5) { $0.write(position: status.position) }
            fields.add(6) { $0.write(position: status.head) }
            if let lag = status.lag { fields.add(7) { $0.write(position: lag) } }
            if status.base > 0 { fields.add(8) { $0.write(position: status.base) } }
            if !status.log.isEmpty { fields.add(9) { $0.write(string: status.log) } }
            if let fault = status.logFault { fields.add(10) { $0.write(string: fault) } }
            if let snapshot = status.snapshot { fields.add(11) { $0.write(clusterSnapshot: snapshot) } }
            if !status.nodes.isEmpty {
                fields.add(12) { field in
                    field.write(count: status.nodes.count)
                    for node in status.nodes { field.write(clusterNode: node) }
                }
            }
            if !status.verifications.isEmpty {
                fields.add(13) { field in
                    field.write(count: status.verifications.count)
                    for verification in status.verifications {
                        field.write(identifier: verification.node)
                        field.write(identifier: verification.digest)
                    }
                }
            }
            if status.isDrained { fields.add(14) { $0.write(byte: 1) } }
        }
        fields.encode(into: &writer)
    }
}

/// Lets every node of the cluster compute the digest of its store at the same position. For administrators; the leader
/// answers.
package struct VerifyCluster: EmptyMessage, Query, Equatable {
    package typealias Answer = ClusterMark
    package static let type = MessageType.verifyCluster

    package init() {}
}

/// The reply: the position of the mark that the leader appended to the log.
package struct ClusterMark: Message, Equatable {
    package static let type = MessageType.clusterMark
    package var position: Int64

    package init(position: Int64) {
        self.position = position
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.position = Int64(try reader.varint("position"))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(position: self.position)
    }
}

/// Lets another node lead. For administrators; the leader answers, when it has given the lead up.
package struct MoveLeader: Query, Equatable {
    package typealias Answer = Done
    package static let type = MessageType.moveLeader
    /// The name of the node.
    package var node: String

    package init(node: String) {
        self.node = node
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.node = try reader.string("node", max: Limits.nodeAddressBytesMax)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(string: self.node)
    }
}

/// Lets this node send its clients to other nodes, take no new ones, and not lead, until it is asked for the opposite
/// or starts again. For administrators.
package struct DrainNode: Query, Equatable {
    package typealias Answer = Done
    package static let type = MessageType.drainNode
    package var drains: Bool

    package init(drains: Bool) {
        self.drains = drains
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.drains = try reader.byte("drains") != 0
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.drains ? 1 : 0)
    }
}
