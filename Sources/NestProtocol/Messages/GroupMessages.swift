import NestModel

/// Begins a group: the connection's writes until END_GROUP are one undo entry.
package struct BeginGroup: Message, Equatable {
    package static let type = MessageType.beginGroup
    /// The name of the undo entry; `nil`: each write has its own.
    package var name: String?
    /// The number of another connection's open group (of the same session) to join.
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

/// The reply: the group's number, with which other connections of the session can join it.
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
