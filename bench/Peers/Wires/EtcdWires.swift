/// The etcd messages that are needed here (rpc.proto and kv.proto of version 3).
public enum EtcdMessage {
    public static let putPath = "/etcdserverpb.KV/Put"
    public static let transactionPath = "/etcdserverpb.KV/Txn"
    static let rangePath = "/etcdserverpb.KV/Range"
    static let watchPath = "/etcdserverpb.Watch/Watch"
    /// The list: all keys with this prefix, in their order.
    static let prefix = "item/"
    /// The first key after the list.
    static let end = "item0"

    /// Returns a put. All keys have the same length, so that they have the order of the numbers.
    public static func put(_ number: Int, _ value: String) -> [UInt8] {
        let digits = String(number)
        let key = Self.prefix + String(repeating: "0", count: max(9 - digits.utf8.count, 0)) + digits
        return Protobuf.text(1, key) + Protobuf.text(2, value)
    }

    /// Returns a transaction of puts.
    public static func transaction(_ puts: [[UInt8]]) -> [UInt8] {
        puts.flatMap { Protobuf.bytes(2, Protobuf.bytes(2, $0)) }
    }

    static func watch() -> [UInt8] {
        Protobuf.bytes(1, Protobuf.text(1, Self.prefix) + Protobuf.text(2, Self.end))
    }

    static func range() -> [UInt8] { Protobuf.text(1, Self.prefix) + Protobuf.text(2, Self.end) }
}

/// Watches the list over gRPC.
public final class EtcdWatcher: PeerWire {
    public let opening: [UInt8]
    private var frames = HTTP2Frames()
    private var messages = FrameScanner<GRPCHeader>()

    public init() {
        self.opening =
            HTTP2Frames.opening()
            + HTTP2Frames.request(
                stream: 1,
                head: HTTP2Frames.requestHead(path: EtcdMessage.watchPath),
                message: EtcdMessage.watch(),
                ends: false
            )
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        try self.frames.scan(bytes, reply: &reply) { header, body in
            guard !header.endsStream else { throw PeerRefusal("etcd ended the watch") }
            guard header.kind == .data else { return }
            try self.messages.scan(body) { _, message in
                try Protobuf.forEachField(message) { field, value, _ in
                    // WatchResponse: 3 created, 4 canceled, 11 an event.
                    if field == 3, value == 1 { received.isReady = true }
                    if field == 4, value == 1 { throw PeerRefusal("etcd cancelled the watch") }
                    if field == 11 { received.deliveries += 1 }
                }
            }
        }
        return received
    }
}

/// Reads the list over gRPC and reports its rows as deliveries.
///
/// It reads in one request: for each page etcd also counts all keys after it, which makes many pages slower than one.
public final class EtcdReader: RequestWire {
    public let opening = HTTP2Frames.opening()
    private let head = HTTP2Frames.requestHead(path: EtcdMessage.rangePath)
    private var frames = HTTP2Frames()
    private var messages = FrameScanner<GRPCHeader>()
    private var nextStream: UInt32 = 1
    private var isReady = false

    public init() {}

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        try self.frames.scan(bytes, reply: &reply) { header, body in
            if header.kind == .settings, !self.isReady {
                self.isReady = true
                received.isReady = true
            }
            guard header.kind == .data else { return }
            try self.messages.scan(body) { _, message in
                // RangeResponse: 2 is a pair.
                try Protobuf.forEachField(message) { field, _, _ in if field == 2 { received.deliveries += 1 } }
                received.answers += 1
            }
        }
        return received
    }

    public func appendRequest(to output: inout [UInt8]) {
        output += HTTP2Frames.request(
            stream: self.nextStream,
            head: self.head,
            message: EtcdMessage.range(),
            ends: true
        )
        self.nextStream += 2
    }
}
