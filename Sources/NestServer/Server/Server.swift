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
        package let historyID: Identifier128
        package let revision: Revision

        package var port: Int { self.address.port ?? 0 }
    }

    private struct Running {
        let listener: Listener
        let io: IOLayer
        let server: ServerContext
        let timers: ServerTimers
    }

    private let configuration: ServerConfiguration
    private let logger: Logger
    private let onListening: @Sendable (Listening) -> Void
    private let onStopping: @Sendable (StoreError?) -> Void
    private let running = NIOLockedValueBox<Running?>(nil)
    private let failure = NIOLockedValueBox<StoreError?>(nil)
    private let stopRequest: AsyncStream<Void>
    private let stopRequested: AsyncStream<Void>.Continuation

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
        // One request to stop is enough.
        (self.stopRequest, self.stopRequested) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Serves until the service group shuts down, the task is cancelled, or the store fails.
    package func run() async throws {
        _ = try await self.start()
        await withTaskCancellationOrGracefulShutdownHandler {
            for await _ in self.stopRequest { break }
        } onCancelOrGracefulShutdown: {
            self.stopRequested.yield()
        }
        try await self.stop()
    }

    // MARK: Starting

    /// Opens the store and listens. `run` calls this, waits, and calls `stop`.
    package func start() async throws(ServerError) -> Listening {
        let io = IOLayer(self.configuration, logger: self.logger)
        let engine = EngineThread(onStage: self.configuration.onEngineStage)
        let opened = try await self.open(engine, io)
        for token in opened.tokens { io.access.take(.created(token)) }
        if let migration = opened.migration { self.log(migration) }
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
        do throws(ServerError) {
            let listener = try await Listener.bind(self.configuration, loops: io.loops, group: io.group, server: server)
            return self.started(listener, opened, io, server)
        } catch {
            await self.close(server, group: io.group)
            throw error
        }
    }

    /// Opens the store on the engine's thread.
    private func open(_ engine: EngineThread, _ io: IOLayer) async throws(ServerError) -> EngineThread.Opened {
        do throws(StoreError) {
            return try await engine.start(
                self.configuration.store,
                limits: EngineLimits(
                    diskFreeBytesMin: self.configuration.diskFreeBytesMin,
                    liveResultBytesMax: io.engineMemory.liveResultBytesMax,
                    writeStepsMax: self.configuration.writeStepsMax,
                    confinedWriteStepsMax: self.configuration.confinedWriteStepsMax
                ),
                readTransaction: self.configuration.timing.readTransaction,
                memory: io.engineMemory,
                deliver: { io.deliver($0) },
                failed: { failure in
                    self.failure.withLockedValue { $0 = failure }
                    self.stopRequested.yield()
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
        _ listener: Listener,
        _ opened: EngineThread.Opened,
        _ io: IOLayer,
        _ server: ServerContext
    ) -> Listening {
        let timers = ServerTimers(io, server, self.healthMonitor(opened, server))
        self.running.withLockedValue { $0 = Running(listener: listener, io: io, server: server, timers: timers) }
        guard let address = listener.address else { preconditionFailure("a bound listener has an address") }
        let listening = Listening(address: address, historyID: opened.historyID, revision: opened.revision)
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
        self.onListening(listening)
        return listening
    }

    /// Returns `nil` for a store in memory, which has no file to sample.
    private func healthMonitor(_ opened: EngineThread.Opened, _ server: ServerContext) -> StoreHealthMonitor? {
        guard self.configuration.store.location != .memory else { return nil }
        return StoreHealthMonitor(
            opened.health,
            freeBytesMin: self.configuration.diskFreeBytesMin,
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
            return { [logger] in
                take()
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

    /// Calls `body` if the server runs.
    func withRunning(_ body: ([ConnectionLoop], ServerContext) -> Void) {
        guard let running = self.running.withLockedValue({ $0 }) else { return }
        body(running.io.loops, running.server)
    }

    // MARK: Stopping

    /// One part in this many of the shutdown time is for closing the store.
    private static let closingShare: Int64 = 5

    /// Stops accepting, notifies the clients, finishes what is in flight, and closes the store. Later calls do nothing.
    package func stop() async throws(ServerError) {
        let running = self.running.withLockedValue { running in
            defer { running = nil }
            return running
        }
        guard let running else { return }
        self.logger.info("server.stopping", metadata: ["connections": "\(running.server.limiter.count)"])
        let failure = self.failure.withLockedValue { $0 }
        self.onStopping(failure)
        running.timers.cancel()
        // Interrupt a batch that takes longer: the rest of the time is for closing.
        let time = self.configuration.timing.shutdown.nanoseconds
        let patience = TimeAmount.nanoseconds(time - time / Self.closingShare)
        let interruption = running.io.loops[0].eventLoop.scheduleTask(in: patience) {
            running.server.engine.interrupt()
        }
        await running.listener.close()
        await self.drain(running.io.loops, within: patience, failure)
        let closing = await self.close(running.server, group: running.io.group) { interruption.cancel() }
        self.logger.info("server.stopped")
        if let failure { throw .engine(failure) }
        if let closing { throw .closing(closing) }
    }

    /// Ends all connections, within `patience`.
    private func drain(_ loops: [ConnectionLoop], within patience: TimeAmount, _ failure: StoreError?) async {
        let emptied = loops.map { loop in
            loop.eventLoop.flatSubmit {
                if let failure { loop.failAll(failure.nestError) }
                return loop.drain(within: patience)
            }
        }
        // These futures cannot fail.
        for future in emptied { try? await future.get() }
        for loop in loops { loop.eventLoop.execute { loop.stopSweeping() } }
    }

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
