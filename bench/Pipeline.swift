import DequeModule
import Histogram
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Keeps `depth` requests in flight on one connection until `total` are answered, and times each request.
///
/// Used only on the connection's event loop.
final class Pipeline {
    private let depth: Int
    private let total: Int
    private let makeFrame: (UInt32) -> ByteBuffer
    private let isAnswer: (UInt8) -> Bool
    private let connection: BenchConnection
    private let finished: EventLoopPromise<Histogram<UInt64>>
    private var sent: Deque<ContinuousClock.Instant> = []
    private var sentCount = 0
    private var answered = 0
    private var nextID: UInt32
    private var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)

    init(
        _ connection: BenchConnection,
        depth: Int,
        total: Int,
        firstID: UInt32,
        answers: [MessageType],
        finished: EventLoopPromise<Histogram<UInt64>>,
        makeFrame: @escaping (UInt32) -> ByteBuffer
    ) {
        self.connection = connection
        self.depth = depth
        self.total = total
        self.nextID = firstID
        let types = Set(answers.map(\.rawValue))
        self.isAnswer = { types.contains($0) }
        self.finished = finished
        self.makeFrame = makeFrame
    }

    /// Runs a pipeline to its end. Callable from any thread.
    static func run(
        _ connection: BenchConnection,
        depth: Int,
        total: Int,
        firstID: UInt32,
        answers: [MessageType],
        makeFrame: @escaping @Sendable (UInt32) -> ByteBuffer
    ) async throws -> Histogram<UInt64> {
        let finished = connection.channel.eventLoop.makePromise(of: Histogram<UInt64>.self)
        try await connection.configure { handler in
            let pipeline = Pipeline(
                connection,
                depth: depth,
                total: total,
                firstID: firstID,
                answers: answers,
                finished: finished,
                makeFrame: makeFrame
            )
            handler.onFrame = { pipeline.take($0) }
            handler.onEnd = { finished.fail(BenchError.ended) }
            pipeline.start()
        }
        return try await finished.futureResult.get()
    }

    private func start() {
        for _ in 0..<min(self.depth, self.total) { self.sendOne() }
        self.connection.channel.flush()
    }

    private func sendOne() {
        self.sent.append(.now)
        self.connection.channel.write(self.makeFrame(self.nextID), promise: nil)
        self.nextID += 1
        self.sentCount += 1
    }

    private func take(_ frame: Frame) {
        if frame.type == MessageType.error.rawValue { return self.finished.fail(BenchError.refused(frame)) }
        guard self.isAnswer(frame.type), let start = self.sent.popFirst() else { return }
        _ = self.latency.record((ContinuousClock.now - start).microseconds)
        self.answered += 1
        if self.sentCount < self.total {
            self.sendOne()
        } else if self.answered == self.total {
            self.finished.succeed(self.latency)
        }
    }
}
