import NestModel
import NestProtocol
import NestFraming

/// The header of a nest frame, and the number of bytes of its body that the load client uses.
struct NestHeader: FrameHeader {
    static let byteCount = Frame.headerBytes
    let bodyBytes: Int
    let type: UInt8
    let isLast: Bool

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bodyBytes = Int(bytes.bigEndian(UInt32.self, at: 0))
        self.type = bytes[4]
        self.isLast = !Frame.Flags(rawValue: bytes[5]).contains(.more)
    }

    /// Enough for the three numbers of a diff, the start of a snapshot, a row count, the payload of a ping, or an
    /// error.
    var keptBytes: Int { 512 }
}

/// nest's frames after its preface.
struct NestFrames {
    private var prefaceMissing = Preface.byteCount
    private var scanner = FrameScanner<NestHeader>()

    /// Answers pings, and throws the server's refusals.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer,
        reply: inout [UInt8],
        _ onFrame: (NestHeader, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let skipped = min(self.prefaceMissing, bytes.count)
        self.prefaceMissing -= skipped
        try self.scanner.scan(bytes.part(skipped, bytes.count - skipped)) { header, body in
            switch header.type {
            case MessageType.ping.rawValue: reply += Self.frame(.pong, id: 0, [UInt8](body))
            case MessageType.error.rawValue, MessageType.goAway.rawValue, MessageType.subscriptionEnd.rawValue:
                throw PeerRefusal("nest refused: \(Self.reason(header, body))")
            default: try onFrame(header, body)
            }
        }
    }

    private static func reason(_ header: NestHeader, _ body: UnsafeRawBufferPointer) -> String {
        guard header.type == MessageType.error.rawValue else { return "message \(header.type)" }
        var reader = ByteReader(body)
        return (try? ErrorMessage(from: &reader))?.error.description ?? "an error"
    }

    static func frame(_ type: MessageType, id: UInt32, _ body: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: Frame.headerBytes + body.count)
        writer.write(integer: UInt32(body.count))
        writer.write(byte: type.rawValue)
        writer.write(byte: 0)
        writer.write(integer: UInt16(0))
        writer.write(integer: id)
        writer.write(raw: body)
        return writer.bytes
    }

    static func frame<M: Message>(_ message: M, id: UInt32) -> [UInt8] { self.frame(M.type, id: id, message.body) }

    /// The preface and HELLO. nest does not compress here, because the peers do not.
    static func opening() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let hello = Hello(
            clientName: "nestpeers",
            features: [.subtrees, .resume, .undo],
            session: Identifier128(high: random.next(), low: random.next())
        )
        return Preface.client.bytes + Self.frame(hello, id: 0)
    }
}

/// The load client's requests to nest. They use one list, the children of the root, in a store that is empty at first.
enum NestLoad {
    static let item = EntityNumber(1)
    static let title = PropertyNumber(1)
    static let atEnd = Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last)

    static func subscribe() -> Subscribe {
        Subscribe(
            ObjectFetchRequest(
                entity: Self.item,
                source: FetchSource(object: ObjectID(1), relationship: PropertyNumber(6)),
                projection: [Self.title]
            )
        )
    }

    /// Returns a transaction that inserts items after all others.
    static func insert(_ titles: [String]) -> TransactionMessage {
        TransactionMessage(
            WriteTransaction(
                mutations: titles.map {
                    .insert(
                        entity: Self.item,
                        values: [PropertyAssignment(Self.title, .value(.string($0)))],
                        placements: [Self.atEnd]
                    )
                }
            )
        )
    }
}
