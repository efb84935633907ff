import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestStore

/// The connection of a node to the leader: brings the records that the leader appends, and carries the requests that
/// this node forwards.
///
/// Belongs to one event loop and never blocks. The driver says whom to follow. Records and replies go from the socket
/// to the engine's mailbox in one hop, and the engine's thread passes requests in one hop per turn.
actor PeerLink {
    /// What a link belongs to.
    struct Environment: Sendable {
        let node: LogNode
        let historyID: Identifier128
        let modelHash: UInt64
        /// `nil`: nodes talk without encryption.
        let tls: PeerTLS?
        /// Whether the leader's secret may go to another machine without encryption.
        let sendsSecretInClear: Bool
        /// Threads that read spool files.
        let files: NIOThreadPool
        let journal: ReplicaJournal
        let submit: @Sendable ([LogInput]) -> Void
        /// Hears of each change of the link, and of each LOG_HEAD.
        let note: @Sendable (LinkState) -> Void
    }

    private struct Inbox {
        var effects: [ForwardEffect] = []
        var isScheduled = false
    }

    nonisolated let eventLoop: any EventLoop
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private nonisolated let environment: Environment
    private nonisolated let intake: RecordIntake
    private nonisolated let inbox = NIOLockedValueBox(Inbox())

    private var leader: FollowedLeader?
    /// Distinguishes the connections: events of an old one are ignored.
    private var number: UInt64 = 0
    private var channel: (any Channel)?
    private var connection: LinkConnection?
    private var isReading = true
    /// Whether the engine knows that the link is up.
    private var isUp = false
    private var backoff = LinkBackoff()
    private var ticker: RepeatedTask?
    private var isStopped = false

    private static let tickTime = TimeAmount.milliseconds(100)
    private static let connectTime = TimeAmount.seconds(2)

    /// `place`: where the engine's store is.
    init(_ environment: Environment, at place: LogPosition, on eventLoop: any EventLoop) {
        self.environment = environment
        self.eventLoop = eventLoop
        self.unownedExecutor = eventLoop.executor.asUnownedSerialExecutor()
        let submit = environment.submit
        self.intake = RecordIntake(at: place) { submit([.entries($0)]) }
    }

    // MARK: From other threads

    /// Connects to a leader, or to none. The same leader again: the node has read what the link lacked.
    nonisolated func follow(_ leader: FollowedLeader?) { self.enqueue { $0.change(to: leader) } }

    /// Takes the requests to forward of a turn. Called on the engine's thread.
    nonisolated func send(_ effects: [ForwardEffect]) {
        let mustSchedule = self.inbox.withLockedValue { inbox in
            inbox.effects += effects
            defer { inbox.isScheduled = true }
            return !inbox.isScheduled
        }
        if mustSchedule { self.enqueue { $0.sendInbox() } }
    }

    /// Called on the engine's thread.
    nonisolated func take(_ event: ReplicaEvent) {
        switch event {
        case .applied(let state):
            if self.intake.applied(state.position) { self.enqueue { $0.readAgain() } }
        case .applyFailed, .damaged, .following, .leading, .settled, .mustReopen:
            // The engine may have dropped what it was given.
            self.intake.clear()
            self.enqueue { $0.fallBehind() }
        case .appended, .uncertain, .marked, .markAnswered, .headWanted, .leadRefused: break
        }
    }

    /// Closes the connection. Nothing is reported any more.
    nonisolated func stop() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.enqueue { link in
                link.isStopped = true
                link.leader = nil
                link.disconnect()
                continuation.resume()
            }
        }
    }

    private nonisolated func enqueue(_ body: @escaping @Sendable (isolated PeerLink) -> Void) {
        self.eventLoop.execute { self.assumeIsolated { body($0) } }
    }

    private nonisolated func schedule(
        in delay: TimeAmount,
        _ body: @escaping @Sendable (isolated PeerLink) -> Void
    ) {
        self.eventLoop.scheduleTask(in: delay) { self.assumeIsolated { body($0) } }
    }

    // MARK: Connecting

    private func change(to leader: FollowedLeader?) {
        guard !self.isStopped else { return }
        guard leader != self.leader else { return self.follow() }
        self.leader = leader
        self.disconnect()
        self.backoff = LinkBackoff()
        if leader != nil { self.connect() }
    }

    private func connect() {
        guard let leader = self.leader else { return }
        self.number += 1
        let number = self.number
        guard let (host, port) = leader.hostAndPort else {
            return self.failed("\(leader.address) is no address", number: number)
        }
        let tls = self.environment.tls
        ClientBootstrap(group: self.eventLoop)
            .connectTimeout(Self.connectTime)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let operations = channel.pipeline.syncOperations
                    if let tls { try operations.addHandlers(tls.makeHandlers(host: host)) }
                    try operations.addHandler(LinkHandler(self, number: number, usesTLS: tls != nil))
                }
            }
            .connect(host: host, port: port)
            .whenComplete { result in
                self.assumeIsolated { $0.connected(result, number: number) }
            }
        // A TLS handshake takes no longer either.
        self.schedule(in: Self.connectTime + Self.connectTime) { link in
            guard link.number == number, link.connection == nil else { return }
            link.failed("the node does not answer", number: number)
        }
    }

    private func connected(_ result: Result<any Channel, any Error>, number: UInt64) {
        switch result {
        case .success(let channel):
            guard number == self.number else { return channel.close(promise: nil) }
            self.channel = channel
        case .failure(let error): self.failed(Self.reason(error), number: number)
        }
    }

    private static func reason(_ error: any Error) -> String {
        guard let failure = error as? NIOConnectionError else { return LogText.reason(error) }
        if let first = failure.connectionErrors.first { return LogText.reason(first.error) }
        return "the name is unknown"
    }

    /// The connection has been made; with TLS, the leader has proved its name.
    func ready(_ channel: any Channel, number: UInt64) {
        guard number == self.number, let leader = self.leader else { return channel.close(promise: nil) }
        guard self.environment.mayProve(at: channel.remoteAddress) else {
            channel.close(promise: nil)
            return self.failed(
                "\(leader.address) is on another machine: the link needs TLS (--tls-cert and --tls-key) or --insecure",
                number: number
            )
        }
        var generator = SystemRandomNumberGenerator()
        self.channel = channel
        self.isReading = true
        self.connection = LinkConnection(
            to: leader,
            from: self.environment.node,
            session: .random(using: &generator),
            historyID: self.environment.historyID,
            modelHash: self.environment.modelHash,
            now: .now()
        )
        self.ticker = self.eventLoop.scheduleRepeatedTask(initialDelay: Self.tickTime, delay: Self.tickTime) { _ in
            self.assumeIsolated { $0.tick(number: number) }
        }
        self.perform()
    }

    func closed(number: UInt64, _ reason: String) { self.failed(reason, number: number) }

    /// The connection cannot be made or has ended: connects again after a pause.
    private func failed(_ reason: String, number: UInt64) {
        guard number == self.number, let leader = self.leader else { return }
        self.backoff.ended(wasUp: self.isUp)
        self.environment.journal.linkDown(leader, because: reason)
        self.disconnect()
        let next = self.number
        var generator = SystemRandomNumberGenerator()
        self.schedule(in: .milliseconds(self.backoff.next(using: &generator))) { link in
            if link.number == next { link.connect() }
        }
    }

    private func disconnect() {
        self.number += 1
        self.ticker?.cancel()
        self.ticker = nil
        self.connection = nil
        self.intake.clear()
        let channel = self.channel
        self.channel = nil
        channel?.close(promise: nil)
        if self.isUp {
            self.isUp = false
            self.environment.journal.metrics.recordLink(isUp: false)
            self.environment.submit([.link(.down)])
        }
        if channel != nil { self.environment.note(.down) }
    }

    // MARK: What happens

    func received(_ preface: Preface, number: UInt64) {
        guard number == self.number else { return }
        self.connection?.received(preface)
    }

    func received(_ frame: Frame, number: UInt64) {
        guard number == self.number else { return }
        self.connection?.received(frame, now: .now())
    }

    func endRead(number: UInt64) {
        guard number == self.number else { return }
        self.connection?.heard(now: .now())
        self.perform()
    }

    private func sendInbox() {
        let effects = self.inbox.withLockedValue { inbox in
            defer { inbox = Inbox() }
            return inbox.effects
        }
        self.count(effects)
        self.connection?.send(effects)
        self.perform()
    }

    private func count(_ effects: [ForwardEffect]) {
        guard self.isUp else { return }
        for case .request(_, let request) in effects {
            self.environment.journal.metrics.countForward(isAgain: request.isAgain)
        }
    }

    private func tick(number: UInt64) {
        guard number == self.number else { return }
        self.connection?.tick(now: .now(), isReading: self.isReading)
        self.perform()
    }

    private func fallBehind() {
        self.connection?.fallBehind(now: .now())
        self.setReading(true)
        self.perform()
    }

    private func follow() {
        guard self.connection?.mayFollow == true else { return }
        self.connection?.follow(from: self.intake.begin())
        self.perform()
    }

    // MARK: Output

    private func perform() {
        guard var output = self.connection?.takeOutput() else { return }
        if output.mustFollow, self.connection?.mayFollow == true {
            self.connection?.follow(from: self.intake.begin())
            if var more = self.connection?.takeOutput() { output.bytes.writeBuffer(&more.bytes) }
        }
        if output.bytes.readableBytes > 0 { self.channel?.writeAndFlush(output.bytes, promise: nil) }
        if !output.records.isEmpty, !self.intake.add(output.records) { self.setReading(false) }
        if !output.events.isEmpty { self.environment.submit(output.events.map { .link($0) }) }
        for case .up in output.events {
            self.isUp = true
            if let leader = self.leader { self.environment.journal.linkUp(leader) }
        }
        if let state = output.state { self.environment.note(state) }
        for read in output.reads { self.read(read) }
        if let reason = output.end { self.failed(reason, number: self.number) }
    }

    private func read(_ read: LinkRequests.Read) {
        let number = self.number
        self.environment.files.runIfActive(eventLoop: self.eventLoop) {
            Result { () throws(NestError) in try LinkUpload.chunk(of: read.chunks, at: read.offset) }
        }.whenSuccess { chunk in
            self.assumeIsolated { link in
                guard number == link.number else { return }
                link.connection?.read(chunk, id: read.id)
                link.perform()
            }
        }
    }

    private func readAgain() { self.setReading(true) }

    private func setReading(_ isReading: Bool) {
        guard self.isReading != isReading, let channel = self.channel, channel.isActive else { return }
        self.isReading = isReading
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    }
}

extension PeerLink.Environment {
    /// Whether the leader's secret may be sent to this address: a stranger who reads it on the way has every right.
    func mayProve(at address: SocketAddress?) -> Bool {
        self.tls != nil || self.sendsSecretInClear || Loopback.contains(address?.ipAddress ?? "")
    }
}
