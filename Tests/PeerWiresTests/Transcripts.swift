import NestModel
import NestProtocol

@testable import PeerWires

/// The bytes that a peer sends on one connection, with the expected counts.
struct Transcript {
    var name: String
    var wire: () -> any PeerWire
    var bytes: [UInt8]
    var deliveries = 0
    var answers = 0
    /// Whether the wire must send a reply.
    var replies = false

    static var all: [Transcript] { Self.nest + Self.redis + Self.nats + Self.grpc + Self.postgres }

    private static func diff(to revision: UInt64, total: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(revision: Revision(revision))
        writer.write(count: 1)
        writer.write(count: total)
        writer.write(integer: UInt64(7))
        writer.write(raw: [0, 0, 0, 0, 0, 0])
        return NestFrames.frame(.diff, id: 1 << 31, writer.bytes)
    }

    private static func snapshot(total: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(byte: 0)
        writer.write(revision: Revision(7))
        writer.write(integer: UInt64(7))
        writer.write(count: total)
        writer.write(raw: [1, 0, 0, 0, 0, 1, 1, 0x80, 0])
        return NestFrames.frame(.snapshot, id: 1 << 31, writer.bytes)
    }

    /// A frame of rows that the wire does not parse, longer than the part of a body that a wire keeps.
    private static func rows(_ count: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(count: count)
        writer.write(raw: [UInt8](repeating: 9, count: 700))
        return NestFrames.frame(.snapshotRows, id: 1 << 31, writer.bytes)
    }

    private static var nest: [Transcript] {
        let greeting = Preface.server(chosen: 1).bytes + NestFrames.frame(.welcome, id: 0, [0])
        let ping = NestFrames.frame(Ping(payload: 5), id: 0)
        return [
            Transcript(
                name: "nest, a subscriber",
                wire: { NestSubscriber() },
                bytes: greeting + Self.snapshot(total: 100) + ping + Self.diff(to: 8, total: 101)
                    + NestFrames.frame(.progress, id: 0, [8]) + Self.diff(to: 100, total: 164),
                deliveries: 64,
                replies: true
            ),
            Transcript(
                name: "nest, a writer",
                wire: { NestRequester.inserting(["a"]) },
                bytes: greeting + NestFrames.frame(.receipt, id: 1, [1, 2, 3]) + ping
                    + NestFrames.frame(.receipt, id: 2, []),
                answers: 2,
                replies: true
            ),
            Transcript(
                name: "nest, a reader",
                wire: { NestRequester.reading() },
                bytes: greeting + Self.snapshot(total: 70_000) + Self.rows(65_000) + Self.rows(5_000),
                deliveries: 70_000,
                answers: 2
            ),
        ]
    }

    private static var redis: [Transcript] {
        let subscribed = "*3\r\n$9\r\nsubscribe\r\n$4\r\nlist\r\n:1\r\n"
        // A payload may look like the protocol.
        let message = "*3\r\n$7\r\nmessage\r\n$4\r\nlist\r\n$11\r\n*1\r\n$1\r\ns\r\n\r\n"
        return [
            Transcript(
                name: "Redis, a subscriber",
                wire: { RedisSubscriber(channel: "list") },
                bytes: Array((subscribed + message + message).utf8),
                deliveries: 2
            ),
            Transcript(
                name: "Redis, a writer with two commands a request",
                wire: { RedisRequester([["RPUSH"], ["PUBLISH"]]) },
                bytes: Array("+PONG\r\n:1\r\n:0\r\n:2\r\n:0\r\n:3\r\n".utf8),
                answers: 2
            ),
            Transcript(
                name: "Redis, a reader",
                wire: { RedisRequester([["LRANGE"]]) },
                bytes: Array("+PONG\r\n*3\r\n$1\r\na\r\n$0\r\n\r\n$2\r\nbc\r\n*0\r\n$-1\r\n".utf8),
                deliveries: 3,
                answers: 3
            ),
        ]
    }

    private static var nats: [Transcript] {
        let info = "INFO {\"version\":\"2.9\"}\r\n"
        let created = "{\"type\":\"created\"}"
        return [
            Transcript(
                name: "NATS, a consumer",
                wire: { NATSWire(number: 7, follows: "d.7", setup: ("$JS.API", "{}")) },
                bytes: Array(
                    (info + "PONG\r\nMSG _INBOX.7 2 \(created.utf8.count)\r\n\(created)\r\n"
                        + "MSG list 1 $JS.ACK.list.x 6\r\nMSG 2 \r\nPING\r\nMSG list 1 0\r\n\r\n").utf8
                ),
                deliveries: 2,
                replies: true
            ),
            Transcript(
                name: "NATS, a writer",
                wire: { NATSWire(number: 1, publishes: ("list", "a")) },
                bytes: Array(
                    (info + "PONG\r\nMSG _INBOX.1 2 9\r\n{\"seq\":1}\r\nMSG _INBOX.1 2 9\r\n{\"seq\":2}\r\n").utf8
                ),
                answers: 2
            ),
        ]
    }

    private static func data(_ stream: UInt32, _ message: [UInt8], ends: Bool = false) -> [UInt8] {
        HTTP2Frames.request(stream: stream, head: [0x88], message: message, ends: ends)
    }

    private static func trailers(_ stream: UInt32) -> [UInt8] {
        HTTP2Frames.frame(.headers, flags: 5, stream: stream, [0x88])
    }

    private static var grpc: [Transcript] {
        let greeting =
            HTTP2Frames.frame(.settings, flags: 0, stream: 0, [0, 5, 0, 0, 0x40, 0])
            + HTTP2Frames.frame(.ping, flags: 0, stream: 0, [1, 2, 3, 4, 5, 6, 7, 8])
        // 20 kB, so that the message spans several frames; it also contains a ten-byte varint.
        let header = Protobuf.bytes(1, [UInt8](repeating: 8, count: 20_000))
        let negative: [UInt8] = [2 << 3] + [UInt8](repeating: 0xff, count: 9) + [1]
        let events = header + negative + Protobuf.bytes(11, [1]) + Protobuf.bytes(11, [])
        let pair = Protobuf.bytes(2, Protobuf.text(1, "item/7") + Protobuf.text(5, "x"))
        return [
            Transcript(
                name: "etcd, a watcher",
                wire: { EtcdWatcher() },
                bytes: greeting + Self.data(1, Protobuf.number(3, 1)) + Self.data(1, events) + Self.data(1, events),
                deliveries: 4,
                replies: true
            ),
            Transcript(
                name: "etcd, a reader",
                wire: { EtcdReader() },
                bytes: greeting + Self.data(1, header + pair + pair) + Self.trailers(1) + Self.data(3, pair)
                    + Self.trailers(3),
                deliveries: 3,
                answers: 2,
                replies: true
            ),
            Transcript(
                name: "gRPC, calls answered out of order",
                wire: { GRPCRequester(path: "/a/b") { _ in [1] } },
                bytes: greeting + Self.data(3, [1]) + Self.data(1, [1]) + Self.trailers(1) + Self.trailers(3)
                    + Self.data(5, [1], ends: true),
                answers: 3,
                replies: true
            ),
        ]
    }

    private static func postgres(_ types: String) -> [UInt8] {
        types.flatMap { PostgresFrames.message($0, $0 == "D" ? [UInt8](repeating: 1, count: 40) : [0]) }
    }

    private static var postgres: [Transcript] {
        [
            Transcript(
                name: "PostgreSQL, a writer",
                wire: { PostgresRequester.running("SELECT 1") },
                bytes: Self.postgres("RSSKZ1Z2DCZ2DCZ"),
                deliveries: 2,
                answers: 2,
                replies: true
            ),
            // One notification arrives between queries and one during a query: three rows at first, then four, then
            // six.
            Transcript(
                name: "PostgreSQL, a subscriber",
                wire: { PostgresSubscriber(channel: "list", query: "SELECT 1") },
                bytes: Self.postgres("RZCZ1Z2DDDCZ" + "A2DDDDACZ" + "2DDDDDDCZ"),
                deliveries: 3,
                replies: true
            ),
        ]
    }
}
