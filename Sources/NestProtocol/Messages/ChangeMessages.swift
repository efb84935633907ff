import NestModel

/// Subscribes to the changed objects of every transaction. The server answers with SUBSCRIBED.
package struct SubscribeChanges: Message, Equatable {
    package static let type = MessageType.subscribeChanges

    /// The server first sends everything after this state, from the journal; `nil`: start after the newest revision.
    package var since: ResumePoint?
    /// The number of parts that the client has of the change set after that state: the place of the last part received.
    /// 0: none.
    package var place: Int
    /// Sends only objects of these entities and of those below them; empty: of all.
    package var entities: [EntityNumber]

    package init(since: ResumePoint? = nil, place: Int = 0, entities: [EntityNumber] = []) {
        self.since = since
        self.place = place
        self.entities = entities
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte("since") {
        case 0:
            self.since = nil
            self.place = 0
        case 1:
            self.since = ResumePoint(
                historyID: try reader.identifier("history id"),
                revision: try reader.revision("since")
            )
            self.place = try reader.index("place")
        default: throw DecodingFailure(.unsupported, "since")
        }
        self.entities = []
        for _ in 0..<(try reader.count("entities", max: Limits.entitiesPerModelMax)) {
            self.entities.append(try reader.entityNumber("entity"))
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.since == nil ? 0 : 1)
        if let since {
            writer.write(identifier: since.historyID)
            writer.write(revision: since.revision)
            writer.write(count: self.place)
        }
        writer.write(count: self.entities.count)
        for entity in self.entities { writer.write(count: Int(entity.rawValue)) }
    }
}

/// The changed objects of a transaction, or a part of them.
package struct ChangeSetMessage: Message, Equatable {
    package static let type = MessageType.changeSet
    package var part: ChangeSetPart

    package init(_ part: ChangeSetPart) {
        self.part = part
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.part = try reader.changeSetPart()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(changeSetPart: self.part)
    }
}
