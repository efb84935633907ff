import ArgumentParser
import Histogram
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// One writer and N subscribers of one list. Every change reaches every subscriber.
struct FanoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract:
            "Measure one writer and N subscribers, against a bare NIO server that appends to a file and broadcasts.",
        discussion: """
            A delivery is one change that reaches one subscriber. With 1 write in flight, the next write is sent when
            the previous one is answered and has reached all subscribers. By default it runs N = 1, 100 and 1000, each
            with 1 and 64 writes in flight.
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Subscribers.") var subscribers: Int?
    @Option(help: "Writes in flight.") var inFlight: Int?
    @Option(help: "Approximate number of deliveries in each round.") var deliveries: Int?

    func run() async throws {
        let target = try BenchTarget(self.options)
        let report = Report(isJSON: self.options.json)
        for inFlight in self.inFlight.map({ [$0] }) ?? [1, 64] {
            for count in self.subscribers.map({ [$0] }) ?? [1, 100, 1_000] {
                let deliveries = self.deliveries ?? (inFlight == 1 ? 200_000 : 2_000_000)
                let writes = min(max(deliveries / count, 200), inFlight == 1 ? 4_000 : 40_000)
                try await self.measure(target, report, subscribers: count, inFlight: inFlight, writes: writes)
            }
        }
        try await target.shutdown()
    }

    private func measure(
        _ target: BenchTarget,
        _ report: Report,
        subscribers: Int,
        inFlight: Int,
        writes: Int
    ) async throws {
        var rate = Measurement(
            workload: "fanout",
            parameters: "\(subscribers) subscribers, \(inFlight) in flight",
            unit: "/s",
            nest: [],
            limitName: "bare NIO, file append and fdatasync, joined frames; deliveries a second",
            limit: []
        )
        var last = Measurement(
            workload: "fanout",
            parameters: "\(subscribers) subscribers: to the last",
            unit: "us",
            nest: [],
            limitName: "the same; median time to the last subscriber",
            limit: [],
            isTime: true
        )
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        for _ in 0..<self.options.rounds {
            let (nest, nestLatency) = try await Self.deliveries(target, subscribers, inFlight, writes) {
                try await target.connect()
            }
            let (limit, limitLatency) = try await self.limit(target, subscribers, inFlight, writes)
            rate.nest.append(nest)
            rate.limit.append(limit)
            last.nest.append(Double(nestLatency.valueAtPercentile(50)))
            last.limit.append(Double(limitLatency.valueAtPercentile(50)))
            latency.add(nestLatency)
        }
        rate.latency = latency
        report.add(rate)
        if inFlight == 1 { report.add(last) }
    }

    /// Measures the deliveries to `count` subscribers, each of which `connect` makes.
    static func deliveries(
        _ target: BenchTarget,
        _ count: Int,
        _ inFlight: Int,
        _ writes: Int,
        connect: () async throws -> BenchConnection
    ) async throws -> (Double, Histogram<UInt64>) {
        let writer = try await target.connect()
        let parent = try await target.makeParent(writer, 1)
        let race = Race(writes: writes, subscribers: count, inFlight: inFlight, loop: target.group.any())
        var connections: [BenchConnection] = []
        for number in 0..<count {
            let connection = try await connect()
            try await connection.subscribe(to: parent) { frame in
                guard frame.type == MessageType.diff.rawValue else { return }
                race.received(subscriber: number, total: Self.total(frame))
            }
            connections.append(connection)
        }
        try await writer.configure { handler in
            handler.onFrame = { frame in
                if frame.type == MessageType.receipt.rawValue { race.answered(1) }
                if frame.type == MessageType.error.rawValue { race.fail(BenchError.refused(frame)) }
            }
        }
        let result = try await race.run { number in
            writer.channel.writeAndFlush(Load.insertFrame(under: parent, id: UInt32(number + 2)), promise: nil)
        }
        for connection in connections + [writer] { try await connection.close() }
        return result
    }

    /// Returns the total number of rows that a diff states. It is the number of changes that have arrived.
    static func total(_ diff: Frame) -> Int {
        diff.body.withUnsafeReadableBytes { bytes -> Int in
            var reader = ByteReader(bytes)
            _ = try? reader.revision("to")
            _ = try? reader.varint("span")
            return (try? reader.index("total")) ?? 0
        }
    }

    /// Returns a frame with the size of such a diff and the same first fields. So the limit's subscribers read the same
    /// data with the same code.
    private static func record(total: Int) -> ByteBuffer {
        var writer = ByteWriter()
        writer.write(revision: Revision(UInt64(total)))
        writer.write(varint: 1)
        writer.write(count: total)
        var body = writer.bytes
        body += [UInt8](repeating: 0, count: limitRecordBytes - Frame.headerBytes - body.count)
        var buffer = ByteBuffer()
        buffer.writeFrame(type: .diff, flags: [], id: 1, body: body)
        return buffer
    }

    private func limit(
        _ target: BenchTarget,
        _ count: Int,
        _ inFlight: Int,
        _ writes: Int
    ) async throws -> (Double, Histogram<UInt64>) {
        let server = try Child("nestbench", ["serve-fanout", "--directory", self.options.directory])
        let race = Race(writes: writes, subscribers: count, inFlight: inFlight, loop: target.group.any())
        var connections: [BenchConnection] = []
        for number in 0..<count {
            let connection = try await BenchConnection.connectRaw(
                host: "127.0.0.1",
                port: server.port,
                on: target.group,
                decodes: true,
                hasPreface: false
            )
            try await connection.configure { handler in
                handler.onFrame = { frame in
                    guard frame.type == MessageType.diff.rawValue else { return }
                    race.received(subscriber: number, total: Self.total(frame))
                }
            }
            connections.append(connection)
        }
        let writer = try await BenchConnection.connectRaw(
            host: "127.0.0.1",
            port: server.port,
            on: target.group,
            decodes: true,
            hasPreface: false
        )
        try await writer.configure { handler in
            handler.onFrame = { frame in
                if frame.type == MessageType.diff.rawValue { race.answered(1) }
            }
        }
        let result = try await race.run { number in
            writer.channel.writeAndFlush(Self.record(total: number + 1), promise: nil)
        }
        for connection in connections + [writer] { try await connection.close() }
        return result
    }
}

/// Counts when each write of a run has reached all subscribers. Used only on one event loop.
final class Race: Sendable {
    private struct State {
        var sent = 0
        var answered = 0
        var sentAt: [ContinuousClock.Instant] = []
        /// The number of subscribers that have not received write n.
        var missing: [Int]
        /// The number of changes that each subscriber has received.
        var totals: [Int]
        var complete = 0
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        var start = ContinuousClock.now
        var send: @Sendable (Int) -> Void = { _ in }
    }

    private let writes: Int
    private let inFlight: Int
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>
    private let finished: EventLoopPromise<(Double, Histogram<UInt64>)>

    init(writes: Int, subscribers: Int, inFlight: Int, loop: any EventLoop) {
        self.writes = writes
        self.inFlight = inFlight
        self.loop = loop
        let state = State(
            missing: [Int](repeating: subscribers, count: writes),
            totals: [Int](repeating: 0, count: subscribers)
        )
        self.state = .makeBoxSendingValue(state, eventLoop: loop)
        self.finished = loop.makePromise()
    }

    /// Returns the deliveries per second, and the times until the last subscriber received a write.
    func run(_ send: @escaping @Sendable (Int) -> Void) async throws -> (Double, Histogram<UInt64>) {
        self.loop.execute {
            self.state.value.send = send
            self.state.value.start = .now
            self.fill()
        }
        return try await self.finished.futureResult.get()
    }

    func received(subscriber: Int, total: Int) {
        let before = self.state.value.totals[subscriber]
        guard total > before else { return }
        self.state.value.totals[subscriber] = total
        for write in before..<min(total, self.writes) {
            self.state.value.missing[write] -= 1
            guard self.state.value.missing[write] == 0 else { continue }
            self.state.value.complete += 1
            _ = self.state.value.latency.record((ContinuousClock.now - self.state.value.sentAt[write]).microseconds)
        }
        self.fill()
    }

    func answered(_ count: Int) {
        self.state.value.answered += count
        self.fill()
    }

    func fail(_ error: any Error) {
        self.finished.fail(error)
    }

    private func fill() {
        let done = min(self.state.value.answered, self.state.value.complete)
        if done == self.writes {
            let time = (ContinuousClock.now - self.state.value.start).seconds
            let deliveries = Double(self.writes * self.state.value.totals.count)
            return self.finished.succeed((deliveries / time, self.state.value.latency))
        }
        while self.state.value.sent < self.writes, self.state.value.sent - done < self.inFlight {
            let number = self.state.value.sent
            self.state.value.sent += 1
            self.state.value.sentAt.append(.now)
            self.state.value.send(number)
        }
    }
}
