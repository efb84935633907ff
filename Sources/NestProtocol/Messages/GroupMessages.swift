import NestModel

/// Begins a group: what the connection writes until END_GROUP is one undo entry.
package struct BeginGroup: Message, Equatable {
    package static let type = MessageType.beginGroup
    /// The entry's name; `nil`: each write's own.
    package var name: String?
    /// A group that another connection of the session has open, which this one joins.
    package var joined: UInt64?

    package init(name: String?, joined: UInt64? = nil) {
        self.name = name
        self.joined = joined
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let name = try reader.string("name", max: Limits.nameBytesMax)
        let joined = try reader.varint("joined group")
        self.name = name.isEmpty ? nil : name
        self.joined = joined == 0 ? nil : joined
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(string: self.name ?? "")
        writer.write(varint: self.joined ?? 0)
    }
}

/// The reply: the group's number, by which other connections of the session can join it.
package struct Group: Message, Equatable {
    package static let type = MessageType.group
    package var number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.number = try reader.varint("group")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: self.number)
    }
}

/// Ends the connection's group, or leaves the one it joined.
package struct EndGroup: EmptyMessage, Equatable {
    package static let type = MessageType.endGroup
    package init() {}
}
