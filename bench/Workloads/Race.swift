import Histogram
import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// Keeps writes in flight, and counts when each has reached all subscribers. Used only on one event loop.
///
/// Every subscriber receives the writes in their order. The work for a diff is therefore the same for any number of
/// writes in it, and the clients are not slower than what they measure.
final class Race: Sendable {
    private struct State {
        var sent = 0
        var answered = 0
        var sentAt: [ContinuousClock.Instant] = []
        /// The number of writes that each subscriber has received.
        var totals: [Int]
        /// The number of subscribers that have received exactly n writes.
        var subscribers: [Int]
        /// The number of writes that all subscribers have received.
        var complete = 0
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        var start = ContinuousClock.now
        var write: @Sendable (Int) -> Void = { _ in }
        var flush: @Sendable () -> Void = {}
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
        var state = State(
            totals: [Int](repeating: 0, count: subscribers),
            subscribers: [Int](repeating: 0, count: writes + 1)
        )
        state.subscribers[0] = subscribers
        self.state = .makeBoxSendingValue(state, eventLoop: loop)
        self.finished = loop.makePromise()
    }

    /// Returns the deliveries per second, and the times until the last subscriber received a write. The writes that may
    /// be sent at the same time are flushed together.
    func run(
        on writer: any Channel,
        _ makeFrame: @escaping @Sendable (Int) -> ByteBuffer
    ) async throws -> (Double, Histogram<UInt64>) {
        self.loop.execute {
            self.state.value.write = { writer.write(makeFrame($0), promise: nil) }
            self.state.value.flush = { writer.flush() }
            self.state.value.start = .now
            self.fill()
            self.state.value.flush()
        }
        return try await self.finished.futureResult.get()
    }

    func received(subscriber: Int, total: Int) {
        let before = self.state.value.totals[subscriber]
        let total = min(total, self.writes)
        guard total > before else { return }
        self.state.value.totals[subscriber] = total
        self.state.value.subscribers[before] -= 1
        self.state.value.subscribers[total] += 1
        guard self.state.value.subscribers[self.state.value.complete] == 0 else { return }
        let now = ContinuousClock.now
        while self.state.value.subscribers[self.state.value.complete] == 0 {
            let time = (now - self.state.value.sentAt[self.state.value.complete]).microseconds
            _ = self.state.value.latency.record(time)
            self.state.value.complete += 1
        }
        self.fill()
        self.state.value.flush()
    }

    /// The writer's handler calls this, and flushes at the end of the read.
    func answered(_ count: Int) {
        self.state.value.answered += count
        self.fill()
    }

    func fail(_ error: any Error) {
        self.finished.fail(error)
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

    private func fill() {
        let done = min(self.state.value.answered, self.state.value.complete)
        if done == self.writes {
            let time = (ContinuousClock.now - self.state.value.start).seconds
            let deliveries = Double(self.writes * self.state.value.totals.count)
            return self.finished.succeed((deliveries / time, self.state.value.latency))
        }
        let first = self.state.value.sent
        let end = min(done + self.inFlight, self.writes)
        guard end > first else { return }
        self.state.value.sent = end
        self.state.value.sentAt += [ContinuousClock.Instant](repeating: .now, count: end - first)
        for number in first..<end { self.state.value.write(number) }
    }
}
