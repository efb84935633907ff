import NestModel
import NestProtocol
import NestSchema

/// A change of a store that its journal does not contain.
package enum LogNote: Sendable {
    /// A session's number and secret id, and when it last wrote.
    case session(Store.Session)
    case forgetSessions([UInt64])
    /// Undo skips this entry. `answer`: an encoded header, the stored reply for an idempotent retry; may be empty.
    case blocked(Revision, answer: [UInt8])
    case tokenCreated(Store.Token)
    case tokenRevoked(UInt64)
    /// The journal's rows up to this revision are dropped, with the blocked entries up to it, and one step of large
    /// values that are unreachable then.
    case trim(through: Revision)
    /// The ids that a session has reserved and that no object has had yet: all of them, ascending.
    case reserved(UInt64, [ClosedRange<Int64>])
    /// A session has sent a part of a large value, whose pieces are the blocks of the record. `first`: the number of
    /// the first one.
    case value(ValueTable.Row, first: Int, isLast: Bool)
    /// A large value that has not arrived completely is dropped.
    case dropArriving(Int64)
    /// One step of large values that are unreachable is dropped, and nothing of the journal.
    case dropValues
    /// Of a leader record: what the leader knows about the log's server, and the history of the store from now on.
    case leader(LogServer, historyID: Identifier128)

    private enum Tag {
        static let session: UInt8 = 1
        static let forgetSessions: UInt8 = 2
        static let blocked: UInt8 = 3
        static let tokenCreated: UInt8 = 4
        static let tokenRevoked: UInt8 = 5
        static let trim: UInt8 = 6
        static let leader: UInt8 = 7
        /// As `tokenCreated`, and the token has a user label or an expiry. A node that would ignore the expiry must
        /// not apply it.
        static let tokenWithIdentityCreated: UInt8 = 8
        static let reserved: UInt8 = 9
        static let value: UInt8 = 10
        static let dropArriving: UInt8 = 11
        static let dropValues: UInt8 = 12
    }

    fileprivate func encode(into writer: inout ByteWriter) {
        switch self {
        case .session(let session):
            writer.write(byte: Tag.session)
            writer.write(varint: session.number)
            writer.write(identifier: session.id)
            writer.write(integer: session.written)
        case .forgetSessions(let numbers):
            writer.write(byte: Tag.forgetSessions)
            writer.write(count: numbers.count)
            for number in numbers { writer.write(varint: number) }
        case .blocked(let revision, let answer):
            writer.write(byte: Tag.blocked)
            writer.write(revision: revision)
            writer.write(count: answer.count)
            writer.write(raw: answer)
        case .tokenCreated(let token):
            let hasIdentity = token.description.grant.hasIdentity
            writer.write(byte: hasIdentity ? Tag.tokenWithIdentityCreated : Tag.tokenCreated)
            writer.write(varint: token.description.number)
            writer.write(tokenSecret: token.secretHash)
            writer.write(tokenGrant: token.description.grant)
            writer.write(integer: token.description.created)
            if hasIdentity { writer.write(identity: token.description.grant) }
        case .tokenRevoked(let number):
            writer.write(byte: Tag.tokenRevoked)
            writer.write(varint: number)
        case .trim(let revision):
            writer.write(byte: Tag.trim)
            writer.write(revision: revision)
        case .reserved(let session, let pieces):
            writer.write(byte: Tag.reserved)
            writer.write(varint: session)
            writer.write(count: pieces.count)
            for piece in pieces {
                writer.write(objectID: ObjectID(piece.lowerBound))
                writer.write(objectID: ObjectID(piece.upperBound))
            }
        case .value(let row, let first, let isLast):
            writer.write(byte: Tag.value)
            writer.write(varint: row.session)
            writer.write(byte: row.type.rawValue)
            writer.write(raw: row.value.bytes)
            writer.write(integer: row.staged)
            writer.write(varint: UInt64(first))
            writer.write(byte: isLast ? 1 : 0)
        case .dropArriving(let id):
            writer.write(byte: Tag.dropArriving)
            writer.write(integer: id)
        case .dropValues: writer.write(byte: Tag.dropValues)
        case .leader(let server, let historyID):
            writer.write(byte: Tag.leader)
            writer.write(integer: server.timeline)
            writer.write(byte: server.isReplicated ? 1 : 0)
            writer.write(identifier: historyID)
        }
    }

    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        let tag = try reader.byte("note")
        switch tag {
        case Tag.session:
            self = .session(
                Store.Session(
                    number: try reader.varint("session number"),
                    id: try reader.identifier("session"),
                    written: try reader.integer(Int64.self, "written")
                )
            )
        case Tag.forgetSessions:
            var numbers: [UInt64] = []
            for _ in 0..<(try reader.count("sessions")) { numbers.append(try reader.varint("session number")) }
            self = .forgetSessions(numbers)
        case Tag.blocked:
            self = .blocked(try reader.revision("blocked"), answer: try reader.blob("answer"))
        case Tag.tokenCreated, Tag.tokenWithIdentityCreated:
            let number = try reader.varint("token")
            let secretHash = try reader.tokenSecret("hash")
            var grant = try reader.tokenGrant()
            let created = try reader.integer(Int64.self, "created")
            if tag == Tag.tokenWithIdentityCreated { try reader.readIdentity(into: &grant) }
            self = .tokenCreated(
                Store.Token(
                    description: TokenDescription(number: number, grant: grant, created: created, lastUsed: 0),
                    secretHash: secretHash
                )
            )
        case Tag.tokenRevoked: self = .tokenRevoked(try reader.varint("token"))
        case Tag.trim: self = .trim(through: try reader.revision("trimmed"))
        case Tag.reserved:
            let session = try reader.varint("session number")
            var pieces: [ClosedRange<Int64>] = []
            for _ in 0..<(try reader.count("reserved ids", max: Limits.reservedPiecesPerSessionMax, bytesEach: 2)) {
                let (first, last) = (try reader.objectID("first id").rawValue, try reader.objectID("last id").rawValue)
                guard first <= last, first > pieces.last?.upperBound ?? 0 else {
                    throw DecodingFailure(.outOfRange, "reserved ids")
                }
                pieces.append(first...last)
            }
            self = .reserved(session, pieces)
        case Tag.value:
            let session = try reader.varint("session number")
            guard let type = AttributeType(rawValue: try reader.byte("type of the value")), type.isLarge else {
                throw DecodingFailure(.invalidValue, "type of the value")
            }
            guard let value = LargeValue(Array(try reader.raw(count: LargeValue.byteCount, "value"))) else {
                throw DecodingFailure(.invalidValue, "value")
            }
            let staged = try reader.integer(Int64.self, "time")
            let first = try reader.varint("first piece")
            guard first <= Limits.largeValueBytesMax else { throw DecodingFailure(.outOfRange, "first piece") }
            self = .value(
                ValueTable.Row(session: session, type: type, value: value, staged: staged),
                first: Int(first),
                isLast: try reader.byte("last part") != 0
            )
        case Tag.dropValues: self = .dropValues
        case Tag.dropArriving: self = .dropArriving(try reader.integer(Int64.self, "value"))
        case Tag.leader:
            let server = LogServer(
                timeline: try reader.integer(UInt32.self, "timeline"),
                isReplicated: try reader.byte("replicated") != 0
            )
            self = .leader(server, historyID: try reader.identifier("history id"))
        default: throw DecodingFailure(.unsupported, "note: a newer nestd wrote it; install that version here too")
        }
    }
}

extension ByteWriter {
    mutating func write(note: LogNote) { note.encode(into: &self) }
}

extension ByteReader {
    mutating func note() throws(DecodingFailure) -> LogNote { try LogNote(from: &self) }
}
