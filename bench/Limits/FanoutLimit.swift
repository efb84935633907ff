import CLimits
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// The limit of a fan-out: a server in C that does the same work for as many bytes as nest, and nothing else.
enum FanoutLimit {
    /// `nest`: the round of nest, whose frames have the sizes that the limit's get.
    static func round(
        _ directory: String,
        _ size: FanoutRound.Size,
        as nest: FanoutRound,
        on group: any EventLoopGroup
    ) async throws -> FanoutRound {
        let disk = try Disk.syncsPerSecond(in: directory)
        let recordBytes = Load.insertFrame(under: ObjectID(2), id: 2).readableBytes
        // Rounded up, so that the limit does not send fewer bytes.
        func perWrite(_ bytes: Int) -> Int { (bytes + size.writes - 1) / size.writes }
        let server = try Child(
            "nestbench",
            [
                "serve-fanout", "--directory", directory, "--record-bytes", "\(recordBytes)",
                "--change-bytes", "\(perWrite(nest.diffBytes))", "--answer-bytes", "\(perWrite(nest.answerBytes))",
            ]
        )
        func connect() async throws -> BenchConnection {
            try await .connectRaw(
                host: "127.0.0.1",
                port: server.port,
                on: group,
                decodes: true,
                hasPreface: false
            )
        }
        var subscribers: [BenchConnection] = []
        for _ in 0..<size.subscribers { subscribers.append(try await connect()) }
        let writer = try await connect()
        return try await FanoutRound(size, writer, subscribers, of: server, disk: disk, on: group) {
            Self.record(total: $0 + 1, byteCount: recordBytes)
        }
    }

    /// Returns a frame that begins as a diff with this total does, so that the subscribers read it with the same code.
    private static func record(total: Int, byteCount: Int) -> ByteBuffer {
        var writer = ByteWriter()
        writer.write(revision: Revision(UInt64(total)))
        writer.write(varint: 1)
        writer.write(count: total)
        var body = writer.bytes
        body += [UInt8](repeating: 0, count: byteCount - Frame.headerBytes - body.count)
        var buffer = ByteBuffer()
        buffer.writeFrame(type: .diff, flags: [], id: 1, body: body)
        return buffer
    }
}
