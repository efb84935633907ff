import NestModel

/// A revision of one of the connection's own writes.
package struct OwnWrite: Hashable, Sendable {
    package var revision: Revision
    /// 0: the server was not asked to name requests.
    package var requestID: UInt32

    package init(revision: Revision, requestID: UInt32 = 0) {
        self.revision = revision
        self.requestID = requestID
    }
}

/// The revisions of the connection's own writes, sent before the diffs that contain them. With the feature
/// `optimisticWrites` also the request of each.
package struct OwnMessage: Message, Equatable {
    package static let type = MessageType.own
    /// Ascending by revision, at least one. An undo of several transactions has several revisions.
    package var writes: [OwnWrite]

    package init(_ writes: [OwnWrite], namesRequests: Bool) {
        self.writes = namesRequests ? writes : writes.map { OwnWrite(revision: $0.revision) }
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.writes = []
        let countMax = Limits.requestsInFlightPerConnectionMax
        for _ in 0..<(try reader.count("revisions", max: countMax)) {
            let revision = try reader.revision("revision")
            if let last = self.writes.last, revision <= last.revision {
                throw DecodingFailure(.invalidValue, "revisions")
            }
            self.writes.append(OwnWrite(revision: revision))
        }
        if self.writes.isEmpty { throw DecodingFailure(.invalidValue, "revisions") }
        guard !reader.isAtEnd else { return }
        guard try reader.count("requests", max: countMax) == self.writes.count else {
            throw DecodingFailure(.invalidValue, "requests")
        }
        for index in self.writes.indices {
            let request = try reader.varint("request")
            guard (1...UInt64(Limits.requestIDMax)).contains(request) else {
                throw DecodingFailure(.outOfRange, "request")
            }
            self.writes[index].requestID = UInt32(request)
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.writes.count)
        for write in self.writes { writer.write(revision: write.revision) }
        guard self.writes.contains(where: { $0.requestID > 0 }) else { return }
        writer.write(count: self.writes.count)
        for write in self.writes { writer.write(varint: UInt64(write.requestID)) }
    }
}
