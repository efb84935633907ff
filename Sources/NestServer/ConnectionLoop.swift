import NIOCore
import NestEngine
import NestModel
import NestStore

/// One event loop and the connections on it. A delivery reaches it in one hop, whatever its size.
final class ConnectionLoop: Sendable {
    let eventLoop: any EventLoop
    private let index: UInt64
    private let loopCount: UInt64
    private let state: NIOLoopBoundBox<State>

    private struct State {
        var connections: [ConnectionID: Connection] = [:]
        var nextNumber: UInt64 = 1
        var counts = ServerMetrics.Counts()
        var sweep: RepeatedTask?
        var outputBytesMax: Int
        /// Set while the server stops: completed when no connection is left.
        var emptied: EventLoopPromise<Void>?
    }

    init(eventLoop: any EventLoop, index: Int, of loopCount: Int, outputBytesMax: Int) {
        self.eventLoop = eventLoop
        self.index = UInt64(index)
        self.loopCount = UInt64(loopCount)
        self.state = .makeBoxSendingValue(State(outputBytesMax: outputBytesMax), eventLoop: eventLoop)
    }

    /// Whether the connection is on this loop: its number says it, so nobody needs a table to know.
    func owns(_ connection: ConnectionID) -> Bool {
        connection.rawValue % self.loopCount == self.index
    }

    // The rest is called on the event loop.

    /// A number that was never used before.
    func makeConnectionID() -> ConnectionID {
        defer { self.state.value.nextNumber += 1 }
        return ConnectionID(self.state.value.nextNumber * self.loopCount + self.index)
    }

    /// Bytes that may wait for one connection; see `Limits.outputBytesMax`.
    var outputBytesMax: Int {
        get { self.state.value.outputBytesMax }
        set { self.state.value.outputBytesMax = newValue }
    }

    /// The connections of this loop, in the order of their numbers.
    var connections: [Connection] { self.state.value.connections.values.sorted { $0.id < $1.id } }

    func connection(_ id: ConnectionID) -> Connection? { self.state.value.connections[id] }

    func add(_ connection: Connection) {
        self.state.value.connections[connection.id] = connection
    }

    func remove(_ connection: Connection) {
        self.state.value.connections[connection.id] = nil
        if self.state.value.connections.isEmpty { self.state.value.emptied?.succeed() }
    }

    func count(_ change: (inout ServerMetrics.Counts) -> Void) {
        change(&self.state.value.counts)
    }

    /// Gives each connection of this loop what is for it, and flushes each once.
    func deliver(_ delivery: Delivery) {
        let connections = self.state.value.connections
        var touched: [Connection] = []
        for item in delivery.items {
            for recipient in item.recipients where self.owns(recipient) {
                guard let connection = connections[recipient] else { continue }
                if connection.deliver(item.content) { touched.append(connection) }
            }
        }
        for connection in touched { connection.settle() }
    }

    /// Looks at every connection's time-outs from now on.
    func startSweeping(every interval: TimeAmount, metrics: ServerMetrics) {
        self.state.value.sweep = self.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            let now = NIODeadline.now()
            for connection in self.state.value.connections.values { connection.sweep(now: now) }
            metrics.add(self.state.value.counts)
            self.state.value.counts = ServerMetrics.Counts()
        }
    }

    /// Tells every connection to finish; completes when they are gone, at the latest after `deadline`.
    func drain(within deadline: TimeAmount) -> EventLoopFuture<Void> {
        let emptied = self.eventLoop.makePromise(of: Void.self)
        self.state.value.emptied = emptied
        if self.state.value.connections.isEmpty {
            emptied.succeed()
        } else {
            for connection in self.state.value.connections.values { connection.drain() }
            let cut = self.eventLoop.assumeIsolated().scheduleTask(in: deadline) {
                for connection in self.state.value.connections.values { connection.cut(.shutdown) }
            }
            emptied.futureResult.assumeIsolated().whenComplete { _ in cut.cancel() }
        }
        return emptied.futureResult
    }

    /// Ends every connection: the store failed, so that nothing in flight will be answered.
    func failAll(_ failure: StoreError) {
        for connection in self.state.value.connections.values { connection.fail(failure.nestError, .storeFailed) }
    }

    func stopSweeping() {
        self.state.value.sweep?.cancel()
        self.state.value.sweep = nil
    }
}
