import NestModel
import NestProtocol

/// Repeats one request, each time with a new id.
public final class NestRequester: RequestWire {
    public let opening = NestFrames.opening()
    private var frames = NestFrames()
    private let template: [UInt8]
    private let answer: MessageType
    private let hasID: Bool
    private var nextID: UInt32 = 1

    private init(_ template: [UInt8], answer: MessageType, hasID: Bool = true) {
        self.template = template
        self.answer = answer
        self.hasID = hasID
    }

    /// Inserts items at the end of the list, in one transaction.
    public static func inserting(_ titles: [String]) -> NestRequester {
        NestRequester(NestFrames.frame(NestLoad.insert(titles), id: 0), answer: .receipt)
    }

    /// Reads an object with all its values.
    public static func getting(object: Int64) -> NestRequester {
        NestRequester(NestFrames.frame(GetObject(id: ObjectID(object)), id: 0), answer: .object)
    }

    public static func pinging() -> NestRequester {
        NestRequester(NestFrames.frame(Ping(payload: 7), id: 0), answer: .pong, hasID: false)
    }

    /// Subscribes to the whole list and reports its rows as deliveries.
    public static func reading() -> NestRequester {
        NestRequester(NestFrames.frame(NestLoad.subscribe(), id: 0), answer: .snapshotRows)
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        try self.frames.scan(bytes, reply: &reply) { header, body in
            if header.type == MessageType.welcome.rawValue { received.isReady = true }
            if header.type == MessageType.snapshotRows.rawValue {
                var reader = ByteReader(body)
                received.deliveries += try reader.index("rows")
            }
            if header.type == self.answer.rawValue, header.isLast { received.answers += 1 }
        }
        return received
    }

    public func appendRequest(to output: inout [UInt8]) {
        let start = output.count
        output += self.template
        guard self.hasID else { return }
        withUnsafeBytes(of: self.nextID.bigEndian) { id in
            for (index, byte) in id.enumerated() { output[start + 8 + index] = byte }
        }
        self.nextID += 1
    }
}
