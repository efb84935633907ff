import NestModel
import NestProtocol

/// Follows the list: the first state, then diffs, each of which states the number of rows.
public final class NestSubscriber: PeerWire {
    public let opening: [UInt8]
    private var frames = NestFrames()
    /// The number of rows in the list, as the last frame stated.
    private var total = 0

    public init() {
        self.opening = NestFrames.opening() + NestFrames.frame(NestLoad.subscribe(), id: 1)
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        var total = self.total
        try self.frames.scan(bytes, reply: &reply) { header, body in
            var reader = ByteReader(body)
            switch MessageType(rawValue: header.type) {
            case .diff:
                _ = try reader.revision("to")
                _ = try reader.varint("span")
                let now = try reader.index("total")
                // The list only grows.
                received.deliveries += now - total
                total = now
            case .snapshot:
                _ = try reader.byte("reason")
                _ = try reader.revision("revision")
                _ = try reader.integer(UInt64.self, "digest")
                let now = try reader.index("total")
                if total > 0 { received.deliveries += now - total }
                total = now
                if header.isLast { received.isReady = true }
            case .snapshotRows, .snapshotSections:
                if header.isLast { received.isReady = true }
            default: break
            }
        }
        self.total = total
        return received
    }
}
