import Histogram
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// A list of 100 rows, with subscribers that receive each change of a row.
final class SubscribersSubject: ScalingSubject {
    static let series = [
        Series(
            id: "subscribers",
            operation: "a row changed, until the last subscriber has it",
            quantity: "subscribers",
            measuresMemory: true
        )
    ]
    static let counts = (full: [1, 10, 100, 1_000, 5_000, 9_900], quick: [1, 10, 100, 1_000, 3_000])
    static func connections(for count: Int) -> Int { count }

    let server: ScalingServer
    private let list: ObjectID
    private let rows: [ObjectID]
    private var count = 0
    private let arrivals: Arrivals

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.list = try await self.server.makeItem()
        self.rows = try await self.server.insert(100, under: self.list)
        self.arrivals = Arrivals(self.server.group.any())
    }

    func grow(to count: Int) async throws {
        let (arrivals, list) = (self.arrivals, self.list)
        let connections = try await self.server.connect(count - self.count)
        for start in stride(from: 0, to: connections.count, by: 100) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for connection in connections[start..<min(start + 100, connections.count)] {
                    group.addTask {
                        try await connection.subscribe(to: list) { frame in
                            if frame.type == MessageType.diff.rawValue { arrivals.take() }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        self.count = count
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let arrivals = self.arrivals
        let rows = self.rows
        try await self.server.writer.configure { handler in
            handler.onFrame = { frame in
                if frame.type == MessageType.receipt.rawValue { arrivals.take() }
                if frame.type == MessageType.error.rawValue { arrivals.fail(BenchError.refused(frame)) }
            }
        }
        let writer = self.server.writer
        return [
            try await ScalingServer.fill(seconds) { times in
                let ids = (0..<times).map { _ in self.server.nextID() }
                return try await self.server.measureWork {
                    try await arrivals.run(ids, of: self.count + 1) { id in
                        writer.send(Load.renameFrame(rows[Int(id) % rows.count], id: id))
                    }
                }
            }
        ]
    }
}

/// Sends one write at a time, the next when the previous one has reached all receivers. Used only on one event loop.
private final class Arrivals: Sendable {
    private struct State {
        var ids: ArraySlice<UInt32> = []
        var each = 0
        var missing = 0
        var start = ContinuousClock.now
        var latency = Histogram<UInt64>(highestTrackableValue: 600_000_000)
        var send: @Sendable (UInt32) -> Void = { _ in }
        var finished: EventLoopPromise<Histogram<UInt64>>?
    }

    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    init(_ loop: any EventLoop) {
        self.loop = loop
        self.state = .makeBoxSendingValue(State(), eventLoop: loop)
    }

    /// `each`: the number of receivers of a write.
    func run(_ ids: [UInt32], of each: Int, _ send: @escaping @Sendable (UInt32) -> Void) async throws
        -> Histogram<UInt64>
    {
        let finished = self.loop.makePromise(of: Histogram<UInt64>.self)
        self.loop.execute {
            self.state.value = State(ids: ids[...], each: each, send: send, finished: finished)
            self.sendNext()
        }
        return try await finished.futureResult.get()
    }

    func take() {
        self.state.value.missing -= 1
        guard self.state.value.missing == 0 else { return }
        _ = self.state.value.latency.record((ContinuousClock.now - self.state.value.start).microseconds)
        self.sendNext()
    }

    func fail(_ error: any Error) {
        self.state.value.finished?.fail(error)
    }

    private func sendNext() {
        guard let id = self.state.value.ids.popFirst() else {
            self.state.value.finished?.succeed(self.state.value.latency)
            return
        }
        self.state.value.missing = self.state.value.each
        self.state.value.start = .now
        self.state.value.send(id)
    }
}
