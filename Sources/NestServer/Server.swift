import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestCompression
import NestEngine
import NestModel
import NestStore
import NestWire
import ServiceLifecycle

/// The whole server: the engine on its thread, connections on the event loops, and their beginning and end.
///
/// Two hops carry a batch of requests: from the event loops into the engine's mailbox, and from its thread once to
/// each event loop that has to write. As a `Service`, `run` lives as long as the server does.
package final class Server: Service {
    /// What is known once the server listens.
    package struct Listening: Sendable {
        package let address: SocketAddress
        package let historyID: Identifier128
        package let revision: Revision

        package var port: Int { self.address.port ?? 0 }
    }

    private struct Running {
        let listener: Listener
        let loops: [ConnectionLoop]
        let group: MultiThreadedEventLoopGroup
        let server: ServerContext
        let tickers: [RepeatedTask]
    }

    private let configuration: ServerConfiguration
    private let logger: Logger
    private let onListening: @Sendable (Listening) -> Void
    private let onStopping: @Sendable (StoreError?) -> Void
    private let running = NIOLockedValueBox<Running?>(nil)
    private let failure = NIOLockedValueBox<StoreError?>(nil)
    private let stopRequest: AsyncStream<Void>
    private let stopRequested: AsyncStream<Void>.Continuation

    /// `onListening` is called once, before the first connection can be answered; `onStopping` once, when it takes nothing
    /// more, with the failure when there was one.
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
        // One wish to stop is as good as many.
        (self.stopRequest, self.stopRequested) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Serves until the group shuts down, the task is cancelled, or the store fails.
    package func run() async throws {
        _ = try await self.start()
        await withTaskCancellationOrGracefulShutdownHandler {
            for await _ in self.stopRequest { break }
        } onCancelOrGracefulShutdown: {
            self.stopRequested.yield()
        }
        try await self.stop()
    }

    /// Opens the store and listens. `run` is this, then waiting, then `stop`.
    package func start() async throws(ServerError) -> Listening {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: self.configuration.eventLoopCount)
        let eventLoops = Array(group.makeIterator())
        let engineMemory = EngineMemory(totalBytesMax: self.configuration.memoryBytesMax)
        let memory = ConnectionMemory(
            bytesMax: self.configuration.connectionBytesMax ?? engineMemory.connectionBytesMax,
            loopCount: eventLoops.count
        )
        let loops = eventLoops.enumerated().map { index, eventLoop in
            ConnectionLoop(
                eventLoop: eventLoop,
                index: index,
                of: eventLoops.count,
                memory: memory,
                outputBytesMax: self.configuration.outputBytesMax
            )
        }
        let metrics = ServerMetrics()
        let places = Descriptors.places(wanted: self.configuration.connectionsMax)
        let gate = ConnectionGate(max: places.served, refusedMax: places.refused)
        let spool = SpoolBudget(bytesMax: self.configuration.spoolBytesMax)
        let access = AccessTable(self.configuration.authentication)
        let engine = EngineThread(onStage: self.configuration.onEngineStage)
        let opened: EngineThread.Opened
        do throws(StoreError) {
            opened = try await engine.start(
                self.configuration.store,
                limits: EngineLimits(
                    diskFreeBytesMin: self.configuration.diskFreeBytesMin,
                    liveResultBytesMax: engineMemory.liveResultBytesMax,
                    writeStepsMax: self.configuration.writeStepsMax,
                    confinedWriteStepsMax: self.configuration.confinedWriteStepsMax
                ),
                readTransaction: self.configuration.timing.readTransaction,
                memory: engineMemory
            ) { [logger] effects, batch, isForIOLayer in
                let wasTokenRequired = access.isTokenRequired
                if isForIOLayer { access.take(effects, logger) }
                let statistics: @Sendable () -> [Statistic] = {
                    metrics.statistics(
                        ServerMetrics.Levels(
                            connections: gate.count,
                            spoolBytes: spool.byteCount,
                            connectionBytes: memory.byteCount
                        )
                    )
                }
                let concerned = ConnectionLoop.concerned(by: effects, loops)
                for loop in concerned {
                    loop.eventLoop.execute {
                        loop.deliver(effects, serverStatistics: statistics)
                        withExtendedLifetime(batch) {}
                    }
                }
                if !wasTokenRequired, access.isTokenRequired {
                    for loop in loops { loop.eventLoop.execute { loop.expelAnonymous() } }
                }
                var counts = ServerMetrics.Counts()
                counts.batches = 1
                counts.hops = 1 + concerned.count
                metrics.add(counts)
            } failed: { failure in
                self.failure.withLockedValue { $0 = failure }
                self.stopRequested.yield()
            }
        } catch {
            // The store's thread has ended; there is nothing of it to close.
            try? await engine.stop()
            try? await group.shutdownGracefully()
            throw .store(error)
        }
        for token in opened.tokens { access.take(.created(token)) }
        if let migration = opened.migration {
            self.logger.notice(
                "store.migrated",
                metadata: [
                    "differences": "\(migration.differences.joined(separator: "; "))",
                    "copy": "\(migration.copyPath)",
                ]
            )
        }
        let server = ServerContext(
            configuration: self.configuration,
            engine: engine,
            reader: opened.reader,
            modelBody: SharedBytes(ModelMessage(opened.model).body),
            exports: NIOThreadPool(numberOfThreads: Limits.transferThreads),
            files: NIOThreadPool(numberOfThreads: Limits.transferThreads),
            spool: spool,
            memory: memory,
            answers: engineMemory.answers,
            access: access,
            tls: self.configuration.tls,
            metrics: metrics,
            gate: gate,
            clients: ClientDirectory(loops: loops, engine: engine),
            logger: self.logger
        )
        server.exports.start()
        server.files.start()
        do throws(ServerError) {
            let listener = try await Listener.bind(self.configuration, loops: loops, group: group, server: server)
            return self.started(listener, opened, loops: loops, group: group, server: server)
        } catch {
            await self.close(server, group: group)
            throw error
        }
    }

    /// Reads certificate and key again: what is called to have new connections use them. When they are no good the old ones
    /// stay.
    package func preparedCertificates() throws(ServerTLS.Failure) -> @Sendable () -> Void {
        guard let tls = self.configuration.tls else { return {} }
        do throws(ServerTLS.Failure) {
            let take = try tls.prepared()
            return { [logger] in
                take()
                logger.notice("tls.reloaded")
            }
        } catch {
            self.logger.error(
                "tls.kept",
                metadata: ["reason": "\(error)", "note": "the certificate before stays in use"]
            )
            throw error
        }
    }

    private func started(
        _ listener: Listener,
        _ opened: EngineThread.Opened,
        loops: [ConnectionLoop],
        group: MultiThreadedEventLoopGroup,
        server: ServerContext
    ) -> Listening {
        for loop in loops {
            loop.eventLoop.execute {
                loop.startSweeping(every: self.configuration.timing.sweep, server)
            }
        }
        let trim = NIOLockedValueBox(MemoryTrim())
        let ticker = loops[0].eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            server.engine.submit(CollectionOfOne(.tick))
            let held = server.memory.byteCount + server.answers.byteCount
            if trim.withLockedValue({ $0.isDue(heldBytes: held) }) {
                server.files.submit { state in
                    if case .active = state { MemoryTrim.run() }
                }
            }
            server.metrics.record(
                ServerMetrics.Levels(
                    connections: server.gate.count,
                    spoolBytes: server.spool.byteCount,
                    connectionBytes: server.memory.byteCount
                )
            )
        }
        let pulse = loops[0].eventLoop.scheduleRepeatedTask(initialDelay: .milliseconds(100), delay: .milliseconds(100))
        { _ in
            server.engine.submit(CollectionOfOne(.positionTimer))
        }
        let watcher =
            self.configuration.store.location == .memory
            ? nil
            : StoreWatcher(
                opened.watch,
                freeBytesMin: self.configuration.diskFreeBytesMin,
                engine: server.engine,
                files: server.files,
                logger: self.logger
            )
        let watching = watcher?.start(on: loops[0].eventLoop)
        self.running.withLockedValue {
            $0 = Running(
                listener: listener,
                loops: loops,
                group: group,
                server: server,
                tickers: [ticker, pulse] + [watching].compactMap { $0 }
            )
        }
        guard let address = listener.address else { preconditionFailure("a bound listener has an address") }
        let listening = Listening(address: address, historyID: opened.historyID, revision: opened.revision)
        self.logger.info(
            "server.listening",
            metadata: [
                "address": "\(LogText.address(address))",
                "connectionsMax": "\(server.gate.max)",
                "tokens": "\(server.access.isTokenRequired ? "required" : "not required")",
                "eventLoops": "\(loops.count)",
                "tls": "\(server.tls == nil ? "off" : "1.3")",
            ]
        )
        self.onListening(listening)
        return listening
    }

    /// Stops accepting, tells the clients, finishes what is in flight, closes the store. Later calls do nothing.
    package func stop() async throws(ServerError) {
        let running = self.running.withLockedValue { running in
            defer { running = nil }
            return running
        }
        guard let running else { return }
        self.logger.info("server.stopping", metadata: ["connections": "\(running.server.gate.count)"])
        let failure = self.failure.withLockedValue { $0 }
        self.onStopping(failure)
        for ticker in running.tickers { ticker.cancel() }
        // A batch that is still under way then would take as long as it takes: the rest of the time is for closing.
        let time = self.configuration.timing.shutdown.nanoseconds
        let patience = TimeAmount.nanoseconds(time - time / Self.closingShare)
        let interruption = running.loops[0].eventLoop.scheduleTask(in: patience) {
            running.server.engine.interrupt()
        }
        await running.listener.close()
        let emptied = running.loops.map { loop in
            loop.eventLoop.flatSubmit {
                if let failure { loop.failAll(failure) }
                return loop.drain(within: patience)
            }
        }
        // Each of them ends within the deadline, and cannot fail.
        for future in emptied { try? await future.get() }
        for loop in running.loops { loop.eventLoop.execute { loop.stopSweeping() } }
        let closing = await self.close(running.server, group: running.group) { interruption.cancel() }
        self.logger.info("server.stopped")
        if let failure { throw .engine(failure) }
        if let closing { throw .closing(closing) }
    }

    /// The part of the time to stop that is kept for closing the store.
    private static let closingShare: Int64 = 5

    /// The engine, then the threads. Returns why the store could not be closed.
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
        // Threads that end may only say that they have ended already.
        try? await server.exports.shutdownGracefully()
        try? await server.files.shutdownGracefully()
        try? await group.shutdownGracefully()
        return failure
    }

    /// Calls `body` while the server runs.
    func withRunning(_ body: ([ConnectionLoop], ServerContext) -> Void) {
        guard let running = self.running.withLockedValue({ $0 }) else { return }
        body(running.loops, running.server)
    }
}
