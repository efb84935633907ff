import NestModel

/// Shows the client to the followers of a scope, replaces what it shows, or removes it. PRESENT is the reply.
package struct SetPresence: Message, Equatable {
    package static let type = MessageType.setPresence
    package var scope: ObjectID
    /// `nil`: the client leaves the scope.
    package var bytes: [UInt8]?

    package init(scope: ObjectID, bytes: [UInt8]?) {
        self.scope = scope
        self.bytes = bytes
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.scope = try reader.objectID("scope")
        switch try reader.byte("presence") {
        case 0: self.bytes = nil
        case 1: self.bytes = try reader.lengthPrefixed("presence", max: Limits.presenceBytesMax)
        default: throw DecodingFailure(.unsupported, "presence")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(objectID: self.scope)
        writer.write(byte: self.bytes == nil ? 0 : 1)
        if let bytes { writer.write(lengthPrefixed: bytes) }
    }
}

/// The reply: by which number others see the client.
package struct Present: Message, Equatable {
    package static let type = MessageType.present
    /// 0: it is present nowhere.
    package var number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.number = try reader.varint("number")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: self.number)
    }
}

/// Begins or ends to follow who is present in a scope.
package struct FollowPresence: Message, Equatable {
    package static let type = MessageType.followPresence
    package var scope: ObjectID
    package var follows: Bool

    package init(scope: ObjectID, follows: Bool) {
        self.scope = scope
        self.follows = follows
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.scope = try reader.objectID("scope")
        self.follows = try reader.byte("follows") != 0
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(objectID: self.scope)
        writer.write(byte: self.follows ? 1 : 0)
    }
}

/// Notifies the followers of a scope who is present there.
package struct PresenceMessage: Message, Equatable {
    package static let type = MessageType.presence

    package struct Change: Equatable, Sendable {
        package var number: UInt64
        /// `nil`: the client is gone.
        package var state: PresenceState?

        package init(gone number: UInt64) {
            self.number = number
        }

        package init(_ state: PresenceState) {
            self.number = state.number
            self.state = state
        }
    }

    /// All who were present, and all who are.
    package static let changesMax = 2 * Limits.presencesPerScopeMax

    package var scope: ObjectID
    /// Whether these are all who are present; otherwise what has changed.
    package var isWhole: Bool
    /// Ascending by their numbers.
    package var changes: [Change]

    package init(scope: ObjectID, isWhole: Bool, _ changes: [Change]) {
        self.scope = scope
        self.isWhole = isWhole
        self.changes = changes
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.scope = try reader.objectID("scope")
        self.isWhole = try reader.flag("whole")
        self.changes = []
        for _ in 0..<(try reader.count("presences", max: Self.changesMax, bytesEach: 6)) {
            let number = try reader.varint("number")
            if let last = self.changes.last, number <= last.number { throw DecodingFailure(.invalidValue, "presences") }
            let state = PresenceState(
                number: number,
                sessionNumber: try reader.varint("session number"),
                user: try reader.user()
            )
            let isGone = try reader.flag("gone")
            let bytes = try reader.lengthPrefixed("presence", max: Limits.presenceBytesMax)
            var change = Change(gone: number)
            if !isGone {
                change.state = state
                change.state?.bytes = bytes
            }
            self.changes.append(change)
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(objectID: self.scope)
        writer.write(byte: self.isWhole ? 1 : 0)
        writer.write(count: self.changes.count)
        for change in self.changes {
            writer.write(varint: change.number)
            writer.write(varint: change.state?.sessionNumber ?? 0)
            writer.write(user: change.state?.user)
            writer.write(byte: change.state == nil ? 1 : 0)
            writer.write(lengthPrefixed: change.state?.bytes ?? [])
        }
    }
}

/// The clients that are present at one node, or at the other nodes that the leader knows. Nodes of a cluster send it to
/// each other.
package struct PeerPresence: Message, Equatable {
    package static let type = MessageType.peerPresence

    package struct Change: Equatable, Sendable {
        package var scope: ObjectID
        package var number: UInt64
        /// The secret id of the client's session: it may come back at another node.
        package var session: Identifier128
        /// Followers hear of it from a node that has reached this revision.
        package var revision: Revision
        /// `nil`: the client is gone.
        package var state: PresenceState?

        package init(
            scope: ObjectID,
            number: UInt64,
            session: Identifier128,
            revision: Revision,
            _ state: PresenceState?
        ) {
            self.scope = scope
            self.number = number
            self.session = session
            self.revision = revision
            self.state = state
        }
    }

    /// Whether all that the receiver has from the sender follows anew, in this message and those after it.
    package var begins: Bool
    package var changes: [Change]

    package init(begins: Bool, _ changes: [Change]) {
        self.begins = begins
        self.changes = changes
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.begins = try reader.flag("begins")
        self.changes = []
        for _ in 0..<(try reader.count("presences", bytesEach: 24)) {
            let scope = try reader.objectID("scope")
            let number = try reader.varint("number")
            let session = try reader.identifier("session")
            let revision = try reader.revision("revision")
            let state = PresenceState(
                number: number,
                sessionNumber: try reader.varint("session number"),
                user: try reader.user()
            )
            let isGone = try reader.flag("gone")
            let bytes = try reader.lengthPrefixed("presence", max: Limits.presenceBytesMax)
            var change = Change(scope: scope, number: number, session: session, revision: revision, nil)
            if !isGone {
                change.state = state
                change.state?.bytes = bytes
            }
            self.changes.append(change)
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(byte: self.begins ? 1 : 0)
        writer.write(count: self.changes.count)
        for change in self.changes {
            writer.write(objectID: change.scope)
            writer.write(varint: change.number)
            writer.write(identifier: change.session)
            writer.write(revision: change.revision)
            writer.write(varint: change.state?.sessionNumber ?? 0)
            writer.write(user: change.state?.user)
            writer.write(byte: change.state == nil ? 1 : 0)
            writer.write(lengthPrefixed: change.state?.bytes ?? [])
        }
    }
}

extension ByteReader {
    /// Reads 0 or 1; another number would change the meaning.
    fileprivate mutating func flag(_ field: StaticString) throws(DecodingFailure) -> Bool {
        let byte = try self.byte(field)
        guard byte <= 1 else { throw DecodingFailure(.unsupported, "\(field)") }
        return byte == 1
    }
}
