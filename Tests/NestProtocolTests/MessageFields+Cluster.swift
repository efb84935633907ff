import NestModel
import NestProtocol
import NestTestSupport

/// The fields of the messages about a cluster.
extension GetCluster: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["mark": .integer(self.mark)] }
}

extension Cluster: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        guard let status = self.status else { return [:] }
        var fields: [String: JSONValue] = [
            "store": .string(status.store), "node": .string(status.node), "role": .string("\(status.role)"),
            "epoch": .integer(status.epoch), "position": .integer(status.position), "head": .integer(status.head),
            "lag": status.lag.map { .integer($0) } ?? .null, "base": .integer(status.base),
            "log": .string(status.log), "logFault": status.logFault.map { .string($0) } ?? .null,
            "drained": .bool(status.isDrained), "nodes": JSONValue(list: status.nodes.map { Self.fields($0) }),
            "verifications": JSONValue(
                list: status.verifications.map { ["node": .string($0.node.hex), "digest": .string($0.digest.hex)] }
            ),
        ]
        if let snapshot = status.snapshot {
            fields["snapshot"] = [
                "position": .integer(snapshot.position), "made": .integer(snapshot.made),
                "bytes": .integer(snapshot.byteCount),
            ]
        }
        return .object(fields)
    }

    private static func fields(_ node: ClusterStatus.Node) -> JSONValue {
        [
            "id": .string(node.id.hex), "name": .string(node.name), "address": .string(node.address),
            "version": .string(node.version), "role": node.role.map { .string("\($0)") } ?? .null,
            "position": node.position.map { .integer($0) } ?? .null,
            "clients": node.clients.map { JSONValue(count: $0) } ?? .null, "drained": .bool(node.isDrained),
        ]
    }
}

extension VerifyCluster: DescribedMessage {}

extension ClusterMark: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["position": .integer(self.position)] }
}

extension MoveLeader: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["node": .string(self.node)] }
}

extension DrainNode: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["drains": .bool(self.drains)] }
}

/// The fields of the messages between nodes.
extension Follow: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["position": .integer(self.position), "chain": .string(self.chain.hex)]
    }
}

extension Record: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "position": .integer(self.position), "chain": .string(self.chain.hex),
            "bytes": .string(Hex.text(self.bytes)),
        ]
    }
}

extension LogHead: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["epoch": .integer(self.epoch), "position": .integer(self.position)]
    }
}

extension LogBehind: DescribedMessage {}

extension PeerOpen: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "port": .integer(Int64(self.port)), "session": .string(self.session.hex),
            "token": .integer(Int64(self.token)),
        ]
        if !self.user.isEmpty { fields["user"] = .string(self.user) }
        return .object(fields)
    }
}

extension PeerClose: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["port": .integer(Int64(self.port))] }
}

extension PeerRequest: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "port": .integer(Int64(self.port)), "group": .integer(Int64(self.group)), "isAgain": .bool(self.isAgain),
            "request": .integer(Int64(self.request)), "body": .string(Hex.text(self.bytes)),
        ]
    }
}
