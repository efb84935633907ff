import NestModel

/// The revisions of the connection's own writes, sent before the diffs that contain them.
package struct Own: Message, Equatable {
    package static let type = MessageType.own
    /// Ascending, at least one.
    package var revisions: [Revision]

    package init(revisions: [Revision]) {
        self.revisions = revisions
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revisions = []
        for _ in 0..<(try reader.count("revisions", max: Limits.requestsInFlightPerConnectionMax)) {
            let revision = try reader.revision("revision")
            if let last = self.revisions.last, revision <= last { throw DecodingFailure(.invalidValue, "revisions") }
            self.revisions.append(revision)
        }
        if self.revisions.isEmpty { throw DecodingFailure(.invalidValue, "revisions") }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.revisions.count)
        for revision in self.revisions { writer.write(revision: revision) }
    }
}
