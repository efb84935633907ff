import DequeModule
import Logging
import NIOCore
import NestProtocol
import NestEngine
import NestModel

/// One event loop and the connections on it. A delivery reaches it in one hop, whatever its size.
package final class ConnectionLoop: Sendable {
    let eventLoop: any EventLoop
    private let index: UInt64
    private let loopCount: UInt64
    private let memory: ConnectionMemory
    private let state: NIOLoopBoundBox<State>

    private struct State {
        var connections: [ConnectionID: ClientConnection] = [:]
        /// Connections of the web port that speak HTTP.
        var webConnections: [ConnectionID: WebConnection] = [:]
        var webSocketOutput = WebSocketOutput()
        var nextNumber: UInt64 = 1
        var counts = ServerMetrics.Counts()
        var sweep: RepeatedTask?
        var compressor: Zstandard.Compressor?
        var outputBytesMax: Int
        /// Set while the server stops: completed when no client is left.
        var emptied: EventLoopPromise<Void>?
        /// Connections that may be evicted, the oldest first; some of them may have logged in meanwhile.
        var evictable: Deque<ConnectionID> = []
        /// The bytes that the connections hold, and the number last reported.
        var heldBytes = 0
        var reportedBytes = 0
        /// The last of the connections that ended before WELCOME since the last sweep.
        var lastRejected: (reason: CloseReason, addressText: String)?
        var peers = LoopPeers()
        var lateMarks = LateMarks()
        /// Gets the output of the delivery under way.
        var gate: OutputGate?
        /// Whether the next late marks will be sent after a pause.
        var isSendingMarks = false
    }

    /// The smallest change of the held bytes that is reported between sweeps.
    private static let reportBytes = 64 << 10

    package init(
        eventLoop: any EventLoop,
        index: Int,
        of loopCount: Int,
        memory: ConnectionMemory,
        outputBytesMax: Int
    ) {
        self.eventLoop = eventLoop
        self.memory = memory
        self.index = UInt64(index)
        self.loopCount = UInt64(loopCount)
        self.state = .makeBoxSendingValue(State(outputBytesMax: outputBytesMax), eventLoop: eventLoop)
    }

    /// Whether the connection is on this loop. Its number determines the loop, without a table.
    func owns(_ connection: ConnectionID) -> Bool {
        connection.rawValue % self.loopCount == self.index
    }

    /// Returns the loops that have a recipient of the effects. Stops looking when it has found all loops.
    static func concerned(by effects: [EngineEffect], _ loops: [ConnectionLoop]) -> [ConnectionLoop] {
        guard loops.count > 1 else { return effects.isEmpty ? [] : loops }
        var isConcerned = [Bool](repeating: false, count: loops.count)
        var missing = loops.count
        for effect in effects {
            effect.forEachRecipient { connection in
                let index = Int(connection.rawValue % UInt64(loops.count))
                if !isConcerned[index] { missing -= 1 }
                isConcerned[index] = true
            }
            if missing == 0 { break }
        }
        return loops.filter { isConcerned[Int($0.index)] }
    }

    // Everything below is called on the event loop.

    /// Returns an id that was never used before.
    func makeConnectionID() -> ConnectionID {
        defer { self.state.value.nextNumber += 1 }
        return ConnectionID(self.state.value.nextNumber * self.loopCount + self.index)
    }

    /// The maximum number of bytes that may wait for one connection; see `Limits.outputBytesMax`.
    var outputBytesMax: Int {
        get { self.state.value.outputBytesMax }
        set { self.state.value.outputBytesMax = newValue }
    }

    /// The connections of this loop, in the order of their numbers.
    var connections: [ClientConnection] { self.state.value.connections.values.sorted { $0.id < $1.id } }

    func connection(_ id: ConnectionID) -> ClientConnection? { self.state.value.connections[id] }

    /// The connections of other nodes of the cluster.
    var peers: LoopPeers {
        _read { yield self.state.value.peers }
        _modify { yield &self.state.value.peers }
    }

    func add(_ connection: ClientConnection) {
        self.state.value.connections[connection.id] = connection
        self.state.value.evictable.append(connection.id)
    }

    /// Evicts the oldest connection that may be evicted, from `address` or, if that is `nil`, from any. Returns whether
    /// there was one.
    func evictOldest(of address: AddressKey?) -> Bool {
        while let id = self.state.value.evictable.first, !self.isEvictable(id) {
            self.state.value.evictable.removeFirst()
        }
        guard let index = self.state.value.evictable.firstIndex(where: { self.isEvictable($0, of: address) }) else {
            return false
        }
        let id = self.state.value.evictable.remove(at: index)
        self.state.value.connections[id]?.evict()
        self.state.value.webConnections[id]?.evict()
        return true
    }

    private func isEvictable(_ id: ConnectionID, of address: AddressKey? = nil) -> Bool {
        self.state.value.connections[id]?.isEvictable(of: address)
            ?? self.state.value.webConnections[id]?.isEvictable(of: address) ?? false
    }

    func remove(_ connection: ClientConnection) {
        self.state.value.connections[connection.id] = nil
        if !connection.session.wasWelcomed {
            self.noteRejected(connection.closing ?? .peer, connection.slot.addressText)
        }
        self.noteRemoval()
    }

    /// Counts a connection that ended before WELCOME.
    private func noteRejected(_ reason: CloseReason, _ addressText: String) {
        self.state.value.counts.rejected += 1
        self.state.value.lastRejected = (reason, addressText)
    }

    private func noteRemoval() {
        if self.state.value.connections.isEmpty { self.state.value.emptied?.succeed() }
    }

    // MARK: The web port

    func add(_ connection: WebConnection) {
        self.state.value.webConnections[connection.id] = connection
        self.state.value.evictable.append(connection.id)
    }

    /// Removes a connection that has ended, or has become a WebSocket. `rejected`: why it ended without an answer.
    func remove(_ connection: WebConnection, rejected: CloseReason?) {
        self.state.value.webConnections[connection.id] = nil
        if let rejected { self.noteRejected(rejected, connection.slot.addressText) }
    }

    /// Returns the buffers of a WebSocket message, which the connections of this loop share.
    func webSocketMessage(_ payload: ByteBuffer) -> (first: ByteBuffer, second: ByteBuffer?) {
        self.state.value.webSocketOutput.message(payload)
    }

    // MARK: Deliveries

    /// Compresses frames that no other loop has compressed yet.
    var compressor: Zstandard.Compressor {
        if let compressor = self.state.value.compressor { return compressor }
        let compressor = Zstandard.Compressor()
        self.state.value.compressor = compressor
        return compressor
    }

    func count(_ change: (inout ServerMetrics.Counts) -> Void) {
        change(&self.state.value.counts)
    }

    /// The gate of the delivery under way, if it has one.
    var gate: OutputGate? { self.state.value.gate }

    /// Delivers effects that may not be durable yet: their frames go through the gate. Waits until it is open if a
    /// recipient cannot use it.
    func deliver(
        _ effects: [EngineEffect],
        _ gate: OutputGate,
        serverStatistics: @escaping @Sendable () -> [Statistic]
    ) {
        let delivery = self.delivery(effects, serverStatistics)
        if gate.phase != .open, self.canUseGate(delivery) {
            self.state.value.gate = gate
            self.deliver(delivery)
            self.state.value.gate = nil
            for id in Set(delivery.items.lazy.flatMap(\.recipients)) { self.connection(id)?.settle() }
        } else if !gate.whenOpen({
            self.eventLoop.execute { self.deliver(effects, serverStatistics: serverStatistics) }
        }) {
            self.deliver(delivery)
        }
    }

    /// Whether all frames of a delivery go to their sockets in one turn, past the channels.
    private func canUseGate(_ delivery: Delivery) -> Bool {
        delivery.frameByteCount.map { $0 <= OutputGate.bytesMax } ?? false
            && delivery.items.allSatisfy { item in
                item.recipients.allSatisfy { self.connection($0)?.prepareForGate() ?? true }
            }
    }

    /// Delivers the effects to their recipients on this loop, and flushes each connection once.
    func deliver(_ effects: [EngineEffect], serverStatistics: () -> [Statistic]) {
        self.deliver(self.delivery(effects, serverStatistics))
    }

    private func delivery(_ effects: [EngineEffect], _ serverStatistics: () -> [Statistic]) -> Delivery {
        let owns: ((ConnectionID) -> Bool)? = self.loopCount == 1 ? nil : { self.owns($0) }
        let effects = self.state.value.peers.hasPorts ? self.routed(effects) : effects
        return Delivery(effects, of: owns, serverStatistics: serverStatistics)
    }

    private func deliver(_ delivery: Delivery) {
        self.count { $0.deliveries += delivery.pushCount }
        let connections = self.state.value.connections
        // Taken out of the box, each access to which checks the thread.
        var lateMarks = LateMarks()
        swap(&lateMarks, &self.state.value.lateMarks)
        var unsettled: [ClientConnection] = []
        // Settle the recipients of the last shared item one by one, while their state is still in the processor's
        // cache. Settle the others, and those with a later item, at the end.
        let last = delivery.items.lastIndex { $0.recipients.count > 1 } ?? delivery.items.endIndex
        let later = Set(delivery.items.dropFirst(last + 1).lazy.flatMap(\.recipients))
        for (index, item) in delivery.items.enumerated() {
            for recipient in item.recipients {
                guard let connection = connections[recipient] else { continue }
                if case .mark(let mark) = item.content, !connection.output.isInDelivery {
                    lateMarks.add(mark, to: recipient)
                    continue
                }
                var isFirst = false
                if let mark = lateMarks.take(recipient) { isFirst = connection.deliver(.mark(mark)) }
                isFirst = connection.deliver(item.content) || isFirst
                if index == last, later.isEmpty || !later.contains(recipient) {
                    if isFirst { connection.settlePushes() } else { connection.settle() }
                } else if isFirst {
                    unsettled.append(connection)
                }
            }
        }
        for connection in unsettled { connection.settle() }
        self.state.value.lateMarks = lateMarks
        if !self.state.value.isSendingMarks { self.sendMarks() }
    }

    /// How many late marks are sent, and connections swept, before others may use the event loop.
    private static let marksInTurnMax = 64
    private static let sweptInTurnMax = 512

    /// Sends some of the late marks, and the others after a pause.
    private func sendMarks() {
        for (id, mark) in self.state.value.lateMarks.take(atMost: Self.marksInTurnMax) {
            guard let connection = self.state.value.connections[id] else { continue }
            if connection.deliver(.mark(mark)) { connection.settlePushes() } else { connection.settle() }
        }
        self.state.value.isSendingMarks = !self.state.value.lateMarks.isEmpty
        guard self.state.value.isSendingMarks else { return }
        self.eventLoop.assumeIsolated().scheduleTask(in: ClientConnection.turnPause) { self.sendMarks() }
    }

    /// Starts to check every connection's time-outs.
    func startSweeping(every interval: TimeAmount, _ server: ServerContext) {
        self.memory.onShed(loop: Int(self.index)) { [weak self] in
            guard let self else { return }
            // Later, when no connection is in the middle of an event.
            self.eventLoop.execute { self.shedLargest() }
        }
        self.state.value.sweep = self.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            let now = NIODeadline.now()
            for connection in self.state.value.webConnections.values { connection.sweep(now: now) }
            self.sweep(Array(self.state.value.connections.values)[...], server)
        }
    }

    /// Checks connections, most of them after pauses if they are very many.
    private func sweep(_ connections: ArraySlice<ClientConnection>, _ server: ServerContext) {
        let now = NIODeadline.now()
        for connection in connections.prefix(Self.sweptInTurnMax) { connection.sweep(now: now) }
        let left = connections.dropFirst(Self.sweptInTurnMax)
        guard left.isEmpty else {
            self.eventLoop.assumeIsolated().scheduleTask(in: ClientConnection.turnPause) {
                if self.state.value.sweep != nil { self.sweep(left, server) }
            }
            return
        }
        // Remove the connections that have ended or logged in.
        let evictable = self.state.value.evictable.filter { self.isEvictable($0) }
        self.state.value.evictable = evictable
        self.report()
        self.logRejected(server.logger)
        server.metrics.add(self.state.value.counts)
        self.state.value.counts = ServerMetrics.Counts()
    }

    /// Logs one line for all connections that ended before WELCOME.
    private func logRejected(_ logger: Logger) {
        guard let last = self.state.value.lastRejected else { return }
        self.state.value.lastRejected = nil
        logger.info(
            "connections.rejected",
            metadata: [
                "count": "\(self.state.value.counts.rejected)", "last": "\(last.reason)",
                "address": "\(last.addressText)",
            ]
        )
    }

    // MARK: Memory

    /// Records that a connection holds `difference` bytes more, or fewer if negative.
    func holds(_ difference: Int) {
        self.state.value.heldBytes += difference
        if abs(self.state.value.heldBytes - self.state.value.reportedBytes) >= Self.reportBytes { self.report() }
    }

    private func report() {
        let held = self.state.value.heldBytes
        self.state.value.reportedBytes = held
        self.memory.report(loop: Int(self.index), bytes: held) {
            self.state.value.connections.values.reduce(0) { max($0, $1.heldBytes) }
        }
    }

    private func shedLargest() {
        let largest = self.state.value.connections.values.max { $0.heldBytes < $1.heldBytes }
        if let largest, largest.heldBytes > 0 {
            self.state.value.counts.shed += 1
            largest.finishShed()
        }
        self.report()
    }

    /// Makes every connection finish. Completes when those of clients are closed, at the latest after `deadline`. A
    /// connection that speaks HTTP is cut, and is not waited for: with TLS its peer may take its time to close.
    package func drain(within deadline: TimeAmount, _ reason: DrainReason = .stopping) -> EventLoopFuture<Void> {
        let emptied = self.eventLoop.makePromise(of: Void.self)
        self.state.value.emptied = emptied
        for connection in self.state.value.webConnections.values { connection.cut(.shutdown) }
        if self.state.value.connections.isEmpty {
            emptied.succeed()
        } else {
            for connection in self.state.value.connections.values { connection.drain(reason) }
            let cut = self.eventLoop.assumeIsolated().scheduleTask(in: deadline) {
                for connection in self.state.value.connections.values { connection.cut(.shutdown) }
            }
            emptied.futureResult.assumeIsolated().whenComplete { _ in cut.cancel() }
        }
        return emptied.futureResult
    }

    /// Sends the clients to other servers: their connections end when what they have asked is answered. `kept`: stays.
    /// The links of other nodes stay too: they end their streams when this node no longer leads.
    func sendOn(_ reason: DrainReason, except kept: ConnectionID?) {
        for connection in self.connections
        where connection.isReady && connection.id != kept && connection.peer == nil {
            connection.drain(reason)
        }
    }

    /// Ends every connection, because the store failed and no request in flight will be answered.
    func failAll(_ error: NestError) {
        for connection in self.state.value.connections.values { connection.fail(error, .storeFailed) }
    }

    /// Ends the connections of clients that logged in without a token.
    func expelAnonymous() {
        for connection in self.state.value.connections.values { connection.expelAnonymous() }
    }

    func stopSweeping() {
        self.state.value.sweep?.cancel()
        self.state.value.sweep = nil
    }
}
