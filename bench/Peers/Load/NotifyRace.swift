import Glibc
import Histogram
import PeerWires

/// Keeps a number of writes in flight for some time, with one writer and N subscribers, and records when each write has
/// reached all of them.
final class NotifyRace {
    struct Result {
        /// The deliveries per second.
        var rate: Double
        var writes: Int
        /// The microseconds from just before a write is sent until the last subscriber has received it.
        var latency: Histogram<UInt64>
    }

    private let loop: LoadLoop
    private let writer: (connection: LoadConnection, wire: any RequestWire)
    private let subscriberCount: Int
    private let inFlight: Int
    private let writesMax: Int
    private var answered = 0
    /// When each write was sent.
    private var sentAt: [UInt64] = []
    /// The number of subscribers that have not received write n.
    private var missing: [Int] = []
    /// The number of writes that each subscriber has received.
    private var totals: [Int]
    /// The number of writes that have reached all subscribers.
    private var complete = 0
    private var latency = Histogram<UInt64>(highestTrackableValue: 120_000_000)
    private var deadline: UInt64 = 0

    /// `writesMax`: the maximum number of writes.
    init(
        _ loop: LoadLoop,
        writer: (connection: LoadConnection, wire: any RequestWire),
        subscribers: Int,
        inFlight: Int,
        writesMax: Int
    ) {
        self.loop = loop
        self.writer = writer
        self.subscriberCount = subscribers
        self.inFlight = inFlight
        self.writesMax = writesMax
        self.totals = [Int](repeating: 0, count: subscribers)
    }

    /// Writes for `seconds`, then waits until all writes have reached all subscribers.
    func run(seconds: Double) throws -> Result {
        let start = monotonicTime()
        self.deadline = start + UInt64(seconds * 1e9)
        try self.fill()
        try self.loop.turn(
            until: { self.sentAt.count == self.done && (self.isOver || self.sentAt.isEmpty) },
            within: 30,
            "\(self.sentAt.count - self.complete) of \(self.sentAt.count) writes did not reach all subscribers"
        ) { connection, received in
            if connection === self.writer.connection {
                self.answered += received.answers
            } else if received.deliveries > 0 {
                self.received(by: connection.index, received.deliveries)
            }
            try self.fill()
        }
        let time = Double(monotonicTime() - start) / 1e9
        return Result(
            rate: Double(self.sentAt.count * self.subscriberCount) / time,
            writes: self.sentAt.count,
            latency: self.latency
        )
    }

    private var done: Int { min(self.answered, self.complete) }
    private var isOver: Bool { self.sentAt.count >= self.writesMax || monotonicTime() >= self.deadline }

    private func received(by subscriber: Int, _ count: Int) {
        let before = self.totals[subscriber]
        self.totals[subscriber] += count
        for write in before..<min(before + count, self.missing.count) {
            self.missing[write] -= 1
            guard self.missing[write] == 0 else { continue }
            self.complete += 1
            _ = self.latency.record((monotonicTime() - self.sentAt[write]) / 1_000)
        }
    }

    private func fill() throws {
        let free = self.inFlight - (self.sentAt.count - self.done)
        guard free > 0, !self.isOver else { return }
        let count = min(free, self.writesMax - self.sentAt.count)
        let now = monotonicTime()
        for _ in 0..<count {
            self.sentAt.append(now)
            self.missing.append(self.subscriberCount)
        }
        try self.loop.send(self.writer.connection) { output in
            for _ in 0..<count { self.writer.wire.appendRequest(to: &output) }
        }
    }
}
