import NestModel

extension ByteReader {
    mutating func clusterSnapshot() throws(DecodingFailure) -> ClusterStatus.Snapshot {
        ClusterStatus.Snapshot(
            position: Int64(try self.varint("position")),
            made: Int64(try self.varint("made")),
            byteCount: Int64(try self.varint("bytes"))
        )
    }

    /// Reads a node. A role of 0 or of a later version: the node is not there.
    mutating func clusterNode() throws(DecodingFailure) -> ClusterStatus.Node {
        ClusterStatus.Node(
            id: try self.identifier("node"),
            name: try self.string("name", max: Limits.nodeAddressBytesMax),
            address: try self.string("address", max: Limits.nodeAddressBytesMax),
            version: try self.string("version", max: Limits.nameBytesMax),
            role: ReplicaRole(rawValue: try self.byte("role")),
            position: try self.known("position"),
            clients: try self.known("clients").map { Int($0) },
            isDrained: try self.byte("drained") != 0
        )
    }

    /// Reads a number that may be unknown: 0, otherwise one more than the number.
    private mutating func known(_ field: StaticString) throws(DecodingFailure) -> Int64? {
        let value = Int64(try self.varint(field))
        return value == 0 ? nil : value - 1
    }
}

extension ByteWriter {
    /// Writes a position, a count or a time, which is never negative.
    mutating func write(position: Int64) {
        self.write(varint: UInt64(max(0, position)))
    }

    mutating func write(clusterSnapshot snapshot: ClusterStatus.Snapshot) {
        self.write(position: snapshot.position)
        self.write(position: snapshot.made)
        self.write(position: snapshot.byteCount)
    }

    mutating func write(clusterNode node: ClusterStatus.Node) {
        self.write(identifier: node.id)
        self.write(string: node.name)
        self.write(string: node.address)
        self.write(string: node.version)
        self.write(byte: node.role?.rawValue ?? 0)
        self.write(position: node.position.map { max(0, $0) + 1 } ?? 0)
        self.write(position: node.clients.map { Int64(max(0, $0)) + 1 } ?? 0)
        self.write(byte: node.isDrained ? 1 : 0)
    }
}
