import Histogram
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// The deliveries from one writer to its subscribers: of nest, or of a limit.
struct FanoutRound {
    struct Size {
        var subscribers: Int
        var inFlight: Int
        var writes: Int
    }

    let perSecond: Double
    let latency: Histogram<UInt64>
    /// The diffs and bytes that the first subscriber received, and the bytes of the answers to the writer.
    let diffs: Int
    let diffBytes: Int
    let answerBytes: Int
    let changesInDiff: Double
    /// `nil` if the server is not a child of this process.
    let use: HardwareUse?

    /// Measures nest with subscribers that `connect` makes.
    init(_ target: BenchTarget, _ size: Size, connect: () async throws -> BenchConnection) async throws {
        let writer = try await target.connect()
        let parent = try await target.makeParent(writer, 1)
        var subscribers: [BenchConnection] = []
        for _ in 0..<size.subscribers {
            let connection = try await connect()
            try await connection.subscribe(to: parent) { _ in }
            subscribers.append(connection)
        }
        try await self.init(size, writer, subscribers, of: target.child, on: target.group) {
            Load.insertFrame(under: parent, id: UInt32($0 + 2))
        }
    }

    /// Runs a race between connections of any server, and closes them. The server answers a write with a receipt or, if
    /// it knows no other frames, with a diff. A server that is a limit writes once to the disk for each diff.
    init(
        _ size: Size,
        _ writer: BenchConnection,
        _ subscribers: [BenchConnection],
        of server: Child?,
        disk: Double? = nil,
        on group: any EventLoopGroup,
        _ makeFrame: @escaping @Sendable (Int) -> ByteBuffer
    ) async throws {
        let loop = group.any()
        let race = Race(writes: size.writes, subscribers: size.subscribers, inFlight: size.inFlight, loop: loop)
        let diffs = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: loop)
        for (number, connection) in subscribers.enumerated() {
            try await connection.configure { handler in
                handler.onEnd = { race.fail(BenchError.ended) }
                handler.onFrame = { frame in
                    guard frame.type == MessageType.diff.rawValue else { return }
                    if number == 0 { diffs.value += 1 }
                    race.received(subscriber: number, total: Race.total(frame))
                }
            }
        }
        try await writer.configure { handler in
            handler.onEnd = { race.fail(BenchError.ended) }
            handler.onFrame = { frame in
                switch MessageType(rawValue: frame.type) {
                case .receipt, .diff: race.answered(1)
                case .error: race.fail(BenchError.refused(frame))
                default: break
                }
            }
        }
        let before = (try await subscribers[0].bytesRead(), try await writer.bytesRead())
        let meter = server.map { HardwareMeter($0) }
        (self.perSecond, self.latency) = try await race.run(on: writer.channel, makeFrame)
        self.diffs = try await loop.submit { diffs.value }.get()
        self.use = meter?.stop(syncs: self.diffs, disk: disk)
        self.diffBytes = try await subscribers[0].bytesRead() - before.0
        self.answerBytes = try await writer.bytesRead() - before.1
        self.changesInDiff = Double(size.writes) / Double(max(self.diffs, 1))
        for connection in subscribers + [writer] { try await connection.close() }
    }
}
