import NIOCore
import NIOPosix
import NIOSSL
import NestModel
import NestProtocol
import NestFraming

/// Performs the actions that the state machine decides. It owns the channel, the timers, and the continuations of
/// waiting callers.
///
/// Isolated to one event loop. Every channel that it opens runs on the same loop, so the handler calls it directly.
actor ClientCore {
    nonisolated let eventLoop: any EventLoop
    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated let configuration: ClientConfiguration
    nonisolated let cacheIdentity: UInt64

    var machine: ClientStateMachine
    private var channel: (any Channel)?
    /// The channel during its TLS handshake.
    private var openingChannel: (any Channel)?
    /// Created from the files on first use.
    var tlsContext: NIOSSLContext?
    /// Distinguishes events of an old channel from events of the current one.
    private var channelNumber: UInt64 = 0
    private var isReading = true
    private var keepAliveTask: RepeatedTask?
    private var handshakeTimer: Scheduled<Void>?
    /// Ends the pause before the next attempt.
    private var reopening: Scheduled<Void>?
    private var connectWaiters: [RequestToken: ConnectWaiter] = [:]
    private var replies: [RequestToken: PendingReply] = [:]
    private var streams: [RequestToken: TransferStream] = [:]
    private var queues: [SubscriberID: ResultsQueue] = [:]
    private var changesQueues: [SubscriberID: ChangesQueue] = [:]
    var undoFollowers: [ObjectIdentifier: UndoFollower] = [:]
    /// Shows the writes of this client before they are confirmed; `nil`: no program has asked for it.
    var optimistic: OptimisticCore?
    var presenceUsers = PresenceUsers()
    /// Answers to transfers that arrived before their caller waited for them.
    private var earlyResults: [RequestToken: Result<Reply, NestError>] = [:]
    private var nextToken: UInt64 = 1
    /// The file of the session; `nil`: it is not kept, or there was no connection yet.
    var keptSession: KeptSession?
    var isSessionChosen: Bool
    var isSessionReleased = false
    /// The last work on that file, which is done in order.
    var sessionWork: EventLoopFuture<Void>

    private struct PendingReply {
        var continuation: CheckedContinuation<Result<Reply, NestError>, Never>
        var timer: Scheduled<Void>?
    }

    private struct ConnectWaiter {
        var continuation: CheckedContinuation<Result<Void, NestError>, Never>
        var timer: Scheduled<Void>?
    }

    init(configuration: ClientConfiguration, eventLoop: any EventLoop) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.unownedExecutor = eventLoop.executor.asUnownedSerialExecutor()
        var random = SystemRandomNumberGenerator()
        var features = Features.usual
        if !configuration.usesCompression { features.subtract([.compression, .compressedFrames]) }
        if configuration.followsAuthors { features.insert(.authors) }
        features.insert(.optimisticWrites)
        let machine = ClientStateMachine(
            hello: Hello(
                clientName: configuration.clientName,
                features: features,
                session: Self.firstSession(configuration.session),
                token: configuration.token,
                user: configuration.user
            ),
            seed: random.next(),
            backoff: Backoff(millisecondsMax: max(Int(configuration.reconnectPauseMax / .milliseconds(1)), 1)),
            homes: configuration.endpoints,
            store: configuration.store,
            followsLeader: configuration.followsLeader,
            usesCache: configuration.cache != nil
        )
        self.cacheIdentity = machine.cacheIdentity
        self.machine = machine
        self.isSessionChosen = configuration.session != .kept
        self.sessionWork = eventLoop.makeSucceededVoidFuture()
    }

    /// The address of the current or next connection.
    var address: ServerAddress { self.machine.route.current }

    /// The settings for the current address.
    var here: ClientConfiguration {
        var here = self.configuration
        here.endpoints = [self.address]
        return here
    }

    var server: ServerDescription? { self.machine.welcome.map(ServerDescription.init) }

    // MARK: Callers

    /// Waits for a connection. The first one comes, or fails at every address. A later one is waited for within
    /// `requestTimeout`: the machine itself tries for ever.
    func connect() async throws(NestError) {
        let token = self.newToken()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                var timer: Scheduled<Void>?
                if self.machine.welcome != nil {
                    timer = self.schedule(after: TimeAmount(self.configuration.requestTimeout)) { core in
                        core.finishConnecting(token, .failure(core.machine.noConnection))
                    }
                }
                self.connectWaiters[token] = ConnectWaiter(continuation: continuation, timer: timer)
                self.perform(self.machine.connect())
            }
        } onCancel: {
            self.enqueue { core in
                let error = NestError(.cancelled, "cancelled before there was a connection")
                core.finishConnecting(token, .failure(error))
            }
        }
        try result.get()
    }

    var currentModel: KnownModel? { self.machine.currentModel }

    func modelIsKnown(hash: UInt64) {
        self.machine.modelIsKnown(hash: hash)
    }

    func closeNow() {
        self.perform(self.machine.close())
    }

    func close() async {
        self.closeNow()
        if let channel = self.channel { try? await channel.closeFuture.get() }
        try? await self.sessionWork.get()
        await self.configuration.cache?.flush()
    }

    func newToken() -> RequestToken {
        defer { self.nextToken += 1 }
        return RequestToken(self.nextToken)
    }

    /// Sends a request and waits for its answer. `timeout` of `nil`: waits as long as the connection lives.
    func request(
        timeout: Duration?,
        token: RequestToken? = nil,
        _ start: (inout ClientStateMachine, RequestToken) -> [ClientAction]
    ) async throws(NestError) -> Reply {
        let token = token ?? self.newToken()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let timer = timeout.map { timeout in
                    self.schedule(after: TimeAmount(timeout)) { $0.abandon(token, isTimeout: true) }
                }
                self.replies[token] = PendingReply(continuation: continuation, timer: timer)
                self.perform(start(&self.machine, token))
            }
        } onCancel: {
            self.enqueue { $0.abandon(token, isTimeout: false) }
        }
        return try result.get()
    }

    func abandon(_ token: RequestToken, isTimeout: Bool) {
        self.perform(self.machine.abandon(token, isTimeout: isTimeout))
    }

    /// Abandons the request if it was not sent yet.
    func abandonIfWaiting(_ token: RequestToken) {
        if self.machine.requests.isWaiting(token) { self.abandon(token, isTimeout: true) }
    }

    func subscribe(
        _ subscriber: SubscriberID,
        _ queue: ResultsQueue,
        to request: ObjectFetchRequest,
        cached: LoadedView?
    ) {
        self.queues[subscriber] = queue
        self.perform(self.machine.subscribe(subscriber, to: request, cached: cached))
    }

    func newSubscriber() -> SubscriberID {
        SubscriberID(self.newToken().rawValue)
    }

    func unsubscribe(_ subscriber: SubscriberID) {
        if let queue = self.queues.removeValue(forKey: subscriber) { self.queuesChanged(by: -queue.drain()) }
        self.perform(self.machine.unsubscribe(subscriber))
    }

    func subscribeToChanges(
        _ subscriber: SubscriberID,
        _ queue: ChangesQueue,
        since: ResumePoint?,
        entities: [EntityNumber]
    ) {
        self.changesQueues[subscriber] = queue
        self.perform(self.machine.subscribeToChanges(subscriber, since: since, entities: entities))
    }

    func unsubscribeFromChanges(_ subscriber: SubscriberID) {
        if let queue = self.changesQueues.removeValue(forKey: subscriber) { self.queuesChanged(by: -queue.drain()) }
        self.perform(self.machine.unsubscribeFromChanges(subscriber))
    }

    /// Ends the group without waiting for the answer, for a caller that may be cancelled.
    func leaveGroup() {
        self.perform(self.machine.endGroup(nil))
    }

    func queuesChanged(by byteCount: Int) {
        self.machine.queuesChanged(by: byteCount)
        self.updateReading()
    }

    // MARK: Transfers

    /// The number of bytes that a download may send at first.
    var initialCredit: Int { self.machine.welcome?.creditBytesInitial ?? Limits.creditBytesInitial }

    /// Whether the server accepts compressed chunks.
    var isCompressionKnown: Bool { self.machine.welcome?.features.contains(.compression) == true }

    /// Starts a transfer. It has no time limit once it is sent: the keep-alive of the connection detects a dead server.
    func begin(_ request: OutgoingRequest, _ token: RequestToken, _ stream: TransferStream) {
        self.streams[token] = stream
        _ = self.schedule(after: TimeAmount(self.configuration.requestTimeout)) { $0.abandonIfWaiting(token) }
        self.perform(self.machine.submit(request))
    }

    /// Waits for the answer to a transfer. The answer may have arrived already.
    func reply(_ token: RequestToken) async throws(NestError) -> Reply {
        if let result = self.earlyResults.removeValue(forKey: token) { return try result.get() }
        return try await self.request(timeout: nil, token: token) { _, _ in [] }
    }

    /// Ends a transfer that its caller has completed or abandoned.
    func leave(_ token: RequestToken) {
        self.perform(self.machine.abandon(token, isTimeout: false))
        self.streams[token] = nil
        self.earlyResults[token] = nil
    }

    func grant(_ token: RequestToken, byteCount: Int) {
        self.perform(self.machine.grant(token, byteCount: byteCount))
    }

    /// Sends a chunk and waits until the socket has accepted it. Returns `false` if the upload has already ended.
    func sendChunk(_ token: RequestToken, _ bytes: [UInt8]) async -> Bool {
        guard let actions = self.machine.sendChunk(token, bytes), let channel = self.channel else { return false }
        self.perform(actions)
        // Waits until the socket has sent the bytes before, so that a large credit does not become a large buffer.
        return (try? await channel.writeAndFlush(ByteBuffer()).get()) != nil
    }

    func sendEnd(_ token: RequestToken, _ end: SubtreeEnd) {
        if let actions = self.machine.sendEnd(token, end) { self.perform(actions) }
    }

    // MARK: The handler

    func bytesReceived() { self.machine.bytesReceived(now: .now()) }

    func received(_ preface: Preface) { self.perform(self.machine.received(preface)) }

    /// A channel that the client has given up may deliver frames until it is closed: they are ignored.
    func received(_ frame: Frame, channelNumber: UInt64) {
        guard channelNumber == self.channelNumber else { return }
        self.perform(self.machine.received(frame, now: .now()))
    }

    func channelClosed(number: UInt64, _ error: NestError?) {
        guard number == self.channelNumber else { return }
        self.channelNumber += 1
        self.channel = nil
        self.openingChannel = nil
        self.keepAliveTask?.cancel()
        self.keepAliveTask = nil
        self.handshakeTimer?.cancel()
        self.optimistic?.assumeIsolated { $0.connectionLost() }
        self.perform(self.machine.channelClosed(error, now: .now()))
    }

    // MARK: Actions

    func perform(_ actions: [ClientAction]) {
        var isFlushNeeded = false
        for action in actions {
            switch action {
            case .openChannel: self.openChannel()
            case .greeted: self.limitHandshake(to: self.configuration.requestTimeout)
            case .openChannelAfter(let milliseconds):
                self.reopening?.cancel()
                self.reopening = self.schedule(after: .milliseconds(Int64(milliseconds))) { core in
                    core.perform(core.machine.backoffEnded())
                }
            case .retryAfter(let milliseconds):
                _ = self.schedule(after: .milliseconds(Int64(milliseconds))) { core in
                    core.perform(core.machine.pauseEnded(now: .now()))
                }
            case .subscribeAfter(let milliseconds):
                _ = self.schedule(after: .milliseconds(Int64(milliseconds))) { core in
                    core.perform(core.machine.subscribePauseEnded())
                }
            case .send(let buffer):
                self.channel?.write(buffer, promise: nil)
                isFlushNeeded = true
            case .closeChannel: self.channel?.close(promise: nil)
            case .connected:
                self.finishConnecting(.success(()))
                self.optimistic?.assumeIsolated { $0.connected() }
            case .connectFailed(let error): self.finishConnecting(.failure(error))
            case .keepSession(let record): self.keepSession(record)
            case .startKeepAlive(let interval): self.startKeepAlive(every: interval)
            case .succeed(let token, let reply): self.finish(token, .success(reply))
            case .fail(let token, let error): self.finish(token, .failure(error))
            case .stream(let token, let event): self.streams[token]?.received(event)
            case .deliver(let element, let subscribers, let byteCount):
                for subscriber in subscribers {
                    guard let queue = self.queues[subscriber] else { continue }
                    self.machine.queuesChanged(by: queue.append(element, byteCount: byteCount))
                }
                self.optimistic?.assumeIsolated { $0.arrived(element) }
            case .seed(let subscriber, let donor):
                guard let queue = self.queues[subscriber], let donor = self.queues[donor] else { continue }
                self.machine.queuesChanged(by: queue.seed(from: donor))
                self.optimistic?.assumeIsolated { $0.arrived(nil) }
            case .endSubscription(let subscribers, let error):
                for subscriber in subscribers {
                    self.queues[subscriber]?.finish(error)
                    self.changesQueues[subscriber]?.finish(error)
                }
                self.optimistic?.assumeIsolated { $0.arrived(nil) }
            case .cache(let change): self.configuration.cache?.record([change])
            case .deliverChanges(let event, let subscriber, let byteCount):
                guard let queue = self.changesQueues[subscriber] else { continue }
                self.machine.queuesChanged(by: queue.append(event, byteCount: byteCount))
            case .own(let revisions): self.optimistic?.assumeIsolated { $0.named(revisions) }
            case .deliverUndoState(let state):
                for follower in self.undoFollowers.values { follower.continuation.yield(state) }
            case .deliverPresence(let scope, let present): self.deliver(present, in: scope)
            case .endPresence(let scope, let error): self.endPresence(scope, error)
            case .endUndoState(let error):
                let followers = self.undoFollowers
                self.undoFollowers = [:]
                for follower in followers.values { follower.continuation.finish(throwing: error) }
            }
        }
        if isFlushNeeded { self.channel?.flush() }
        if case .closed(let error) = self.machine.phase {
            self.optimistic?.assumeIsolated { $0.closed(error) }
            self.releaseSession()
        }
        self.updateReading()
    }

    private func finish(_ token: RequestToken, _ result: Result<Reply, NestError>) {
        if self.optimistic?.assumeIsolated({ $0.finished(token, result) }) == true { return }
        if case .failure(let error) = result { self.streams[token]?.failed(error) }
        guard let pending = self.replies.removeValue(forKey: token) else {
            if self.streams[token] != nil { self.earlyResults[token] = result }
            return
        }
        pending.timer?.cancel()
        pending.continuation.resume(returning: result)
    }

    private func finishConnecting(_ result: Result<Void, NestError>) {
        if case .success = result { self.handshakeTimer?.cancel() }
        for token in Array(self.connectWaiters.keys) { self.finishConnecting(token, result) }
    }

    private func finishConnecting(_ token: RequestToken, _ result: Result<Void, NestError>) {
        guard let waiter = self.connectWaiters.removeValue(forKey: token) else { return }
        waiter.timer?.cancel()
        waiter.continuation.resume(returning: result)
    }

    private func updateReading() {
        guard let channel = self.channel, channel.isActive, self.machine.wantsToRead != self.isReading else { return }
        self.isReading.toggle()
        try? channel.syncOptions?.setOption(.autoRead, value: self.isReading)
    }

    private func startKeepAlive(every interval: TimeAmount) {
        self.keepAliveTask?.cancel()
        self.keepAliveTask = self.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            self.assumeIsolated { $0.perform($0.machine.checkKeepAlive(now: .now())) }
        }
    }

    /// Gives the handshake this much time from now on.
    private func limitHandshake(to limit: Duration) {
        let number = self.channelNumber
        let here = self.here
        self.handshakeTimer?.cancel()
        self.handshakeTimer = self.schedule(after: TimeAmount(limit)) { core in
            guard core.channelNumber == number, let channel = core.channel ?? core.openingChannel else { return }
            core.channelClosed(number: number, here.fault(.silent))
            channel.close(promise: nil)
        }
    }

    func openChannel() {
        guard self.isSessionChosen else { return self.chooseSession() }
        // A caller may have ended the pause: its timer would begin attempts of its own.
        self.reopening?.cancel()
        self.reopening = nil
        let number = self.channelNumber
        self.limitHandshake(to: self.configuration.connectTimeout)
        let tls: (@Sendable (any Channel) throws -> Void)?
        do throws(NestError) {
            tls = try self.configureTLS()
        } catch {
            return self.perform(self.machine.giveUp(error))
        }
        ClientBootstrap(group: self.eventLoop)
            .connectTimeout(TimeAmount(self.configuration.connectTimeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try tls?(channel)
                    try channel.pipeline.syncOperations.addHandler(ClientHandler(core: self, channelNumber: number))
                }
            }
            .connect(host: here.host, port: here.port)
            .flatMap { channel in
                guard tls != nil else { return channel.eventLoop.makeSucceededFuture(channel) }
                self.assumeIsolated { core in
                    if core.channelNumber == number { core.openingChannel = channel }
                }
                return Self.handshake(channel)
            }
            .whenComplete { result in
                self.assumeIsolated { $0.channelOpened(result, number: number) }
            }
    }

    private func channelOpened(_ result: Result<any Channel, any Error>, number: UInt64) {
        switch result {
        case .success(let channel):
            guard number == self.channelNumber else {
                channel.close(promise: nil)
                return
            }
            if let error = self.clearTokenError(channel) {
                channel.close(promise: nil)
                // See `leaveServer`: here the machine has no channel yet.
                guard self.machine.route.isOnly else {
                    return self.channelClosed(number: number, error)
                }
                return self.perform(self.machine.giveUp(error))
            }
            self.openingChannel = nil
            self.channel = channel
            self.isReading = true
            self.perform(self.machine.channelOpened(now: .now()))
        case .failure(let error):
            self.channelClosed(number: number, ConnectFailure.nestError(error, self.here))
        }
    }

    // MARK: Time

    nonisolated func enqueue(_ body: @escaping @Sendable (isolated ClientCore) -> Void) {
        self.eventLoop.execute { self.assumeIsolated { body($0) } }
    }

    func schedule(
        after delay: TimeAmount,
        _ body: @escaping @Sendable (isolated ClientCore) -> Void
    ) -> Scheduled<Void> {
        self.eventLoop.scheduleTask(in: delay) { self.assumeIsolated { body($0) } }
    }
}
