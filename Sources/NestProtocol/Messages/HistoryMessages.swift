import NestModel

/// Requests a page of the journal, newest first.
package struct GetHistory: Query, Equatable {
    package typealias Answer = History
    package static let type = MessageType.getHistory

    /// Lists only entries before this revision; 0 for the newest.
    package var before: Revision
    /// The greatest number of entries, up to `Limits.historyPageMax`.
    package var limit: Int
    package var onlyMine: Bool
    /// Lists only transactions that changed this object; `nil`: all.
    package var object: ObjectID?

    package init(before: Revision, limit: Int, onlyMine: Bool, object: ObjectID? = nil) {
        self.before = before
        self.limit = limit
        self.onlyMine = onlyMine
        self.object = object
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.before = try reader.revision("before")
        self.limit = try reader.count("limit", max: Limits.historyPageMax, bytesEach: 0)
        self.onlyMine = try reader.byte("scope") != 0
        self.object = reader.isAtEnd ? nil : try reader.objectID("object")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.before)
        writer.write(count: self.limit)
        writer.write(byte: self.onlyMine ? 1 : 0)
        if let object { writer.write(objectID: object) }
    }
}

/// The reply: committed transactions, newest first.
package struct History: Message, Equatable {
    package static let type = MessageType.history
    package var entries: [HistoryEntry]

    package init(_ entries: [HistoryEntry]) {
        self.entries = entries
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.entries = []
        for _ in 0..<(try reader.count("entries", max: Limits.historyPageMax, bytesEach: 7)) {
            self.entries.append(try reader.historyEntry())
        }
        for (index, user) in try reader.users(count: self.entries.count).enumerated() {
            self.entries[index].user = user
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.entries.count)
        for entry in self.entries { writer.write(historyEntry: entry) }
        writer.write(users: self.entries.map(\.user))
    }
}
