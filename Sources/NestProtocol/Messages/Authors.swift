import NestModel

/// Notifies a client, before diffs, who wrote the revisions that the diffs contain.
package struct Authors: Message, Equatable {
    package static let type = MessageType.authors
    /// Ascending, at least one.
    package var authors: [RevisionAuthor]

    package init(_ authors: [RevisionAuthor]) {
        self.authors = authors
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.authors = []
        for _ in 0..<(try reader.count("authors", max: Limits.historyPageMax, bytesEach: 3)) {
            let revision = try reader.revision("revision")
            if let last = self.authors.last, revision <= last.revision {
                throw DecodingFailure(.invalidValue, "authors")
            }
            let session = try reader.varint("session number")
            let user = UserLabel(try reader.string("user", max: Limits.nameBytesMax))
            self.authors.append(RevisionAuthor(revision: revision, sessionNumber: session, user: user))
        }
        if self.authors.isEmpty { throw DecodingFailure(.invalidValue, "authors") }
        guard !reader.isAtEnd else { return }
        var index = 0
        for _ in 0..<(try reader.count("claims", max: self.authors.count)) {
            let revision = try reader.revision("claim")
            while index < self.authors.count, self.authors[index].revision < revision { index += 1 }
            guard index < self.authors.count, self.authors[index].revision == revision,
                self.authors[index].user != nil
            else { throw DecodingFailure(.invalidValue, "claims") }
            self.authors[index].user?.isClaimed = true
            index += 1
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.authors.count)
        for author in self.authors {
            writer.write(revision: author.revision)
            writer.write(varint: author.sessionNumber)
            writer.write(string: author.user?.text ?? "")
        }
        let claims = self.authors.filter { $0.user?.isClaimed == true }
        guard !claims.isEmpty else { return }
        writer.write(count: claims.count)
        for claim in claims { writer.write(revision: claim.revision) }
    }
}
