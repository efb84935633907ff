import NestModel

/// A follower asks the leader for the records of the log behind its position, as they are committed. Nodes of a cluster
/// send it to each other; HELLO has proved that the sender is one. There is no reply: LOG_HEAD, RECORD and LOG_BEHIND
/// have the same id. A later FOLLOW replaces an earlier one.
package struct Follow: Message, Equatable {
    package static let type = MessageType.follow
    /// The follower's position in the log.
    package var position: Int64
    /// The chain of the record at that position.
    package var chain: Identifier128

    package init(position: Int64, chain: Identifier128) {
        self.position = position
        self.chain = chain
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.position = Int64(try reader.varint("position"))
        self.chain = try reader.identifier("chain")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(position: self.position)
        writer.write(identifier: self.chain)
    }
}

/// A record that is in the log, or a piece of one: the flag MORE is set on all pieces but the last.
package struct Record: Message, Equatable {
    package static let type = MessageType.record
    package var position: Int64
    package var chain: Identifier128
    package var bytes: [UInt8]

    package init(position: Int64, chain: Identifier128, bytes: [UInt8]) {
        self.position = position
        self.chain = chain
        self.bytes = bytes
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.position = Int64(try reader.varint("position"))
        self.chain = try reader.identifier("chain")
        self.bytes = try reader.lengthPrefixed("bytes")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(position: self.position)
        writer.write(identifier: self.chain)
        writer.write(lengthPrefixed: self.bytes)
    }
}

/// The newest record of the leader: sent as the answer to FOLLOW, and once a second.
package struct LogHead: Message, Equatable {
    package static let type = MessageType.logHead
    /// The epoch in which the sender leads.
    package var epoch: Int64
    package var position: Int64

    package init(epoch: Int64, position: Int64) {
        self.epoch = epoch
        self.position = position
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.epoch = Int64(try reader.varint("epoch"))
        self.position = Int64(try reader.varint("position"))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(position: self.epoch)
        writer.write(position: self.position)
    }
}

/// The sender does not hold the records behind the follower's position, or no longer leads: the follower reads the log,
/// and sends FOLLOW again.
package struct LogBehind: EmptyMessage, Equatable {
    package static let type = MessageType.logBehind

    package init() {}
}

/// Opens a port: the leader then treats the requests of this port as those of one client of the follower.
package struct PeerOpen: Message, Equatable {
    package static let type = MessageType.peerOpen
    /// Chosen by the follower; not used again on the same connection.
    package var port: UInt32
    package var session: Identifier128
    /// The number of the client's token; 0: it has none.
    package var token: UInt64
    /// What a client without a token says its user is; empty: nothing.
    package var user: String

    package init(port: UInt32, session: Identifier128, token: UInt64, user: String = "") {
        self.port = port
        self.session = session
        self.token = token
        self.user = user
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.port = try reader.port()
        self.session = try reader.identifier("session")
        self.token = try reader.varint("token")
        self.user = reader.isAtEnd ? "" : try reader.string("user", max: Limits.nameBytesMax)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.port))
        writer.write(identifier: self.session)
        writer.write(varint: self.token)
        if !self.user.isEmpty { writer.write(string: self.user) }
    }
}

/// Ends a port. Its open group ends.
package struct PeerClose: Message, Equatable {
    package static let type = MessageType.peerClose
    package var port: UInt32

    package init(port: UInt32) {
        self.port = port
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.port = try reader.port()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.port))
    }
}

/// A request of a client of the follower. The leader answers with the frames of its reply, under the id of this frame.
/// The chunks of an import follow under this id too.
package struct PeerRequest: Message, Equatable {
    package static let type = MessageType.peerRequest
    package var port: UInt32
    /// The undo group that the client is in; 0: none. A port that is not in it (any more) executes nothing.
    package var group: UInt64
    /// Whether the request may have been sent before, to this leader or to an earlier one.
    package var isAgain: Bool
    /// The type of the client's request.
    package var request: UInt8
    /// The body of the client's request.
    package var bytes: [UInt8]

    package init(port: UInt32, group: UInt64 = 0, isAgain: Bool = false, request: MessageType, bytes: [UInt8]) {
        self.port = port
        self.group = group
        self.isAgain = isAgain
        self.request = request.rawValue
        self.bytes = bytes
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.port = try reader.port()
        self.group = try reader.varint("group")
        self.isAgain = try reader.byte("flags") & 1 != 0
        self.request = try reader.byte("request")
        self.bytes = try reader.lengthPrefixed("body")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: UInt64(self.port))
        writer.write(varint: self.group)
        writer.write(byte: self.isAgain ? 1 : 0)
        writer.write(byte: self.request)
        writer.write(lengthPrefixed: self.bytes)
    }
}

extension ByteReader {
    fileprivate mutating func port() throws(DecodingFailure) -> UInt32 {
        guard let port = UInt32(exactly: try self.varint("port")) else { throw DecodingFailure(.outOfRange, "port") }
        return port
    }
}
