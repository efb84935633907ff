import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestProtocol
import NestEngine
import NestModel
import NestStore
import ServiceLifecycle

/// The whole server: the engine on its thread, connections on the event loops, and their start and stop.
///
/// Two hops carry a batch of requests: from the event loops into the engine's mailbox, and from its thread once to each
/// event loop that has to write. As a `Service`, `run` returns when the server has stopped.
package final class Server: Service {
    /// The address and the store of a server that listens.
    package struct Listening: Sendable {
        package let address: SocketAddress
        /// The address for browsers, if there is one.
        package let webAddress: SocketAddress?
        package let historyID: Identifier128
        package let revision: Revision

        package var port: Int { self.address.port ?? 0 }
        package var webPort: Int? { self.webAddress?.port }
    }

    private struct Running {
        let listeners: [Listener]
        let io: IOLayer
        let server: ServerContext
        let timers: ServerTimers
    }

    /// Why a server ends, or opens its store again.
    struct Ending: Sendable {
        var isStopping = false
        /// A node of a cluster must open its store again.
        var reopening: ReplicaReopening?
        /// The log of the cluster contradicts itself.
        var damage: LogFailure?
        /// No client can connect any more.
        var lostListener: ServerError?
        /// Hears of a request to stop before the store is open.
        var node: ReplicaNode?
        /// The newest limits, for the next opening.
        var limits: LiveLimits?
    }

    let configuration: ServerConfiguration
    let logger: Logger
    private let onListening: @Sendable (Listening) -> Void
    let onStopping: @Sendable (StoreError?) -> Void
    private let running = NIOLockedValueBox<Running?>(nil)
    private let failure = NIOLockedValueBox<StoreError?>(nil)
    let ending = NIOLockedValueBox(Ending())
    private let endRequest: AsyncStream<Void>
    let endRequested: AsyncStream<Void>.Continuation

    /// Calls `onListening` once, before the first connection can be answered. Calls `onStopping` once, when it begins
    /// to stop, with the store's failure if there was one.
    package init(
        _ configuration: ServerConfiguration,
        logger: Logger,
        onListening: @escaping @Sendable (Listening) -> Void = { _ in },
        onStopping: @escaping @Sendable (StoreError?) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onListening = onListening
        self.onStopping = onStopping
        // One request to end is enough.
        (self.endRequest, self.endRequested) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Serves until the service group shuts down, the task is cancelled, or the store fails.
    package func run() async throws {
        if let replica = self.configuration.replica {
            return try await withTaskCancellationOrGracefulShutdownHandler {
                try await self.serve(as: replica)
            } onCancelOrGracefulShutdown: {
                let node = self.ending.withLockedValue { ending in
                    ending.isStopping = true
                    return ending.node
                }
                node?.requestStop()
                self.endRequested.yield()
            }
        }
        _ = try await self.start()
        await withTaskCancellationOrGracefulShutdownHandler {
            await self.untilEnding()
        } onCancelOrGracefulShutdown: {
            self.endRequested.yield()
        }
        try await self.stop()
    }

    /// Waits for a request to stop, a failure of the store, or a reason to open it again.
    func untilEnding() async {
        for await _ in self.endRequest { break }
    }

    // MARK: Starting

    /// Opens the store and listens. `run` calls this, waits, and calls `stop`.
    package func start() async throws(ServerError) -> Listening { try await self.start(self.configuration, nil) }

    /// `replica`: the node of the cluster whose store this is.
    func start(
        _ configuration: ServerConfiguration,
        _ replica: ReplicaSession?
    ) async throws(ServerError) -> Listening {
        let io = IOLayer(configuration, replica, logger: self.logger)
        let engine = EngineThread(onStage: configuration.onEngineStage)
        let opened = try await self.open(configuration, engine, io)
        for token in opened.tokens { io.access.take(.created(token)) }
        if let migration = opened.migration { self.log(migration) }
        if opened.hasKeptModel {
            self.logger.warning(
                "model.kept",
                metadata: [
                    "reason": "'nestc model apply' has changed the model, and --model names the one before",
                    "note": "specify the new model, or change the store's with 'nestd migrate'",
                ]
            )
        }
        if let former = opened.restoredHistoryID {
            self.logger.notice(
                "store.restored",
                metadata: [
                    "backupOf": "\(former)", "history": "\(opened.historyID)", "revision": "\(opened.revision)",
                ]
            )
        }
        let server = io.context(engine, opened)
        server.exports.start()
        server.files.start()
        await replica?.start(
            engine,
            opened,
            link: (eventLoop: io.loops[io.loops.count - 1].eventLoop, files: server.files),
            bytesLeftMin: configuration.diskFreeBytesMin,
            connectionCount: { io.limiter.count },
            sendOn: { reason, kept in
                for loop in io.loops { loop.eventLoop.execute { loop.sendOn(reason, except: kept) } }
            },
            onEnd: { self.end($0) }
        )
        do throws(ServerError) {
            return self.started(try await self.listen(configuration, io, server), opened, io, server)
        } catch {
            await replica?.stop()
            await replica?.stopLink()
            await self.close(server, group: io.group)
            throw error
        }
    }

    /// Listens for clients and, if they have a port, for browsers.
    private func listen(
        _ configuration: ServerConfiguration,
        _ io: IOLayer,
        _ server: ServerContext
    ) async throws(ServerError) -> [Listener] {
        let listener = try await Listener.bind(configuration, loops: io.loops, group: io.group, server: server)
        guard let web = configuration.web else { return [listener] }
        do throws(ServerError) {
            return [listener, try await Listener.bind(web, loops: io.loops, group: io.group, server: server)]
        } catch {
            await listener.close()
            throw error
        }
    }

    /// Opens the store on the engine's thread.
    private func open(
        _ configuration: ServerConfiguration,
        _ engine: EngineThread,
        _ io: IOLayer
    ) async throws(ServerError) -> EngineThread.Opened {
        do throws(StoreError) {
            return try await engine.start(
                configuration.store,
                limits: EngineLimits(
                    diskFreeBytesMin: configuration.diskFreeBytesMin,
                    liveResultBytesMax: io.engineMemory.liveResultBytesMax,
                    writeStepsMax: configuration.writeStepsMax,
                    confinedWriteStepsMax: configuration.confinedWriteStepsMax
                ),
                readTransaction: configuration.timing.readTransaction,
                memory: io.engineMemory,
                // In a cluster others get the effects as well, and with TLS no connection can use a gate.
                sendingAhead: SendingAhead(isOn: !io.hasPeers && configuration.tls == nil),
                deliver: { io.deliver($0) { engine.recentCommits } },
                failed: { failure in
                    self.failure.withLockedValue { $0 = failure }
                    self.endRequested.yield()
                }
            )
        } catch {
            // The store's thread has ended, so these have nothing to close.
            try? await engine.stop()
            try? await io.group.shutdownGracefully()
            throw .store(error)
        }
    }

    private func started(
        _ listeners: [Listener],
        _ opened: EngineThread.Opened,
        _ io: IOLayer,
        _ server: ServerContext
    ) -> Listening {
        let timers = ServerTimers(io, server, self.healthMonitor(opened, server))
        self.running.withLockedValue { $0 = Running(listeners: listeners, io: io, server: server, timers: timers) }
        for listener in listeners {
            listener.watch { loss in
                self.ending.withLockedValue { $0.lostListener = loss }
                self.endRequested.yield()
            }
        }
        guard let address = listeners[0].address else { preconditionFailure("a bound listener has an address") }
        let webAddress = listeners.count > 1 ? listeners[1].address : nil
        let listening = Listening(
            address: address,
            webAddress: webAddress,
            historyID: opened.historyID,
            revision: opened.revision
        )
        self.logger.info(
            "server.listening",
            metadata: [
                "address": "\(LogText.address(address))",
                "history": "\(opened.historyID)",
                "revision": "\(opened.revision)",
                "connectionsMax": "\(server.limiter.max)",
                "tokens": "\(server.access.isTokenRequired ? "required" : "not required")",
                "eventLoops": "\(io.loops.count)",
                "tls": "\(server.tls == nil ? "off" : "1.3")",
            ]
        )
        if let webAddress {
            let root = configuration.web?.root ?? "none"
            self.logger.info(
                "web.listening",
                metadata: ["address": "\(LogText.address(webAddress))", "root": "\(root)"]
            )
        }
        self.onListening(listening)
        return listening
    }

    /// Returns `nil` for a store in memory, which has no file to sample.
    private func healthMonitor(_ opened: EngineThread.Opened, _ server: ServerContext) -> StoreHealthMonitor? {
        guard server.configuration.store.location != .memory else { return nil }
        return StoreHealthMonitor(
            opened.health,
            freeBytesMin: server.configuration.diskFreeBytesMin,
            engine: server.engine,
            files: server.files,
            logger: self.logger
        )
    }

    private func log(_ migration: MigrationReport) {
        self.logger.notice(
            "store.migrated",
            metadata: [
                "differences": "\(migration.differences.map(\.text).joined(separator: "; "))",
                "copy": "\(migration.copyPath ?? "none")",
            ]
        )
    }

    // MARK: Running

    /// Reads the certificate and the key again. Returns a closure that makes new connections use them. Throws if they
    /// cannot be used; the old ones then stay in use.
    package func preparedCertificates() throws(ServerTLS.Failure) -> @Sendable () -> Void {
        guard let tls = self.configuration.tls else { return {} }
        do throws(ServerTLS.Failure) {
            let take = try tls.prepared()
            let takeForPeers = try self.configuration.replica?.tls?.prepared()
            return { [logger] in
                take()
                takeForPeers?()
                logger.notice("tls.reloaded")
            }
        } catch {
            self.logger.error(
                "tls.kept",
                metadata: ["reason": "\(error)", "note": "the previous certificate stays in use"]
            )
            throw error
        }
    }

    var isRunning: Bool { self.running.withLockedValue { $0 != nil } }

    /// Calls `body` if the server runs.
    func withRunning(_ body: ([ConnectionLoop], ServerContext) -> Void) {
        guard let running = self.running.withLockedValue({ $0 }) else { return }
        body(running.io.loops, running.server)
    }

    // MARK: Stopping

    /// One part in this many of the shutdown time is for closing the store.
    private static let closingShare: Int64 = 5

    /// Stops accepting, notifies the clients, finishes what is in flight, and closes the store. Later calls do nothing.
    package func stop() async throws(ServerError) { try await self.stop(.stopping, isFinal: true) }

    /// `isFinal`: the store is not opened again.
    func stop(_ reason: DrainReason, isFinal: Bool) async throws(ServerError) {
        let running = self.running.withLockedValue { running in
            defer { running = nil }
            return running
        }
        guard let running else { return }
        self.logger.info("server.stopping", metadata: ["connections": "\(running.server.limiter.count)"])
        let failure = self.failure.withLockedValue { $0 }
        if isFinal { self.onStopping(failure) }
        running.timers.cancel()
        // Interrupt a batch that takes longer: the rest of the time is for closing.
        let time = self.configuration.timing.shutdown.nanoseconds
        let patience = TimeAmount.nanoseconds(time - time / Self.closingShare)
        let interruption = running.io.loops[0].eventLoop.scheduleTask(in: patience) {
            running.server.engine.interrupt()
        }
        for listener in running.listeners { await listener.close() }
        let emptied = self.drain(running.io.loops, within: patience, reason, failure)
        if let replica = running.server.replica {
            // What clients have sent so far comes before the end of the lead, so that nothing of it is refused.
            if failure == nil { await self.finishBatches(running) }
            await replica.stop()
        }
        // These futures cannot fail.
        for future in emptied { try? await future.get() }
        await running.server.replica?.stopLink()
        for loop in running.io.loops { loop.eventLoop.execute { loop.stopSweeping() } }
        let closing = await self.close(running.server, group: running.io.group) { interruption.cancel() }
        self.logger.info("server.stopped")
        if let failure { throw .engine(failure) }
        if let closing { throw .closing(closing) }
        if let loss = self.ending.withLockedValue({ $0.lostListener }) { throw loss }
    }

    /// Begins to end all connections, within `patience`.
    private func drain(
        _ loops: [ConnectionLoop],
        within patience: TimeAmount,
        _ reason: DrainReason,
        _ failure: StoreError?
    ) -> [EventLoopFuture<Void>] {
        loops.map { loop in
            loop.eventLoop.flatSubmit {
                if let failure { loop.failAll(failure.nestError) }
                return loop.drain(within: patience, reason)
            }
        }
    }

    /// Waits until the engine has performed what is in its mailbox, but not for long: it may wait for the log.
    private func finishBatches(_ running: Running) async {
        let eventLoop = running.io.loops[0].eventLoop
        let finished = eventLoop.makePromise(of: Void.self)
        let limit = eventLoop.scheduleTask(in: Self.batchesTime) { finished.succeed() }
        let visits = running.io.loops.map { $0.eventLoop.submit {} }
        EventLoopFuture.andAllSucceed(visits, on: eventLoop).whenSuccess {
            running.server.engine.ask { _ in finished.succeed() }
        }
        try? await finished.futureResult.get()
        limit.cancel()
    }

    private static let batchesTime = TimeAmount.seconds(1)

    /// Closes the engine, then ends the threads. Returns the error if the store could not be closed.
    @discardableResult
    private func close(
        _ server: ServerContext,
        group: MultiThreadedEventLoopGroup,
        engineClosed: () -> Void = {}
    ) async -> StoreError? {
        var failure: StoreError?
        do throws(StoreError) {
            try await server.engine.stop()
        } catch {
            failure = error
        }
        engineClosed()
        // These can only fail because they have ended already.
        try? await server.exports.shutdownGracefully()
        try? await server.files.shutdownGracefully()
        try? await group.shutdownGracefully()
        return failure
    }
}
