import Logging
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// The event loops of a server, with the limits and counters that they share.
final class IOLayer: Sendable {
    let group: MultiThreadedEventLoopGroup
    let loops: [ConnectionLoop]
    let engineMemory: EngineMemory
    let memory: ConnectionMemory
    let limiter: ConnectionLimiter
    let spool: SpoolBudget
    let access: AccessTable
    let metrics = ServerMetrics()
    private let configuration: ServerConfiguration
    private let replica: ReplicaSession?
    private let peers: PeerServices?
    private let logger: Logger

    /// `replica`: the node of the cluster that this server is.
    init(_ configuration: ServerConfiguration, _ replica: ReplicaSession?, logger: Logger) {
        self.configuration = configuration
        self.replica = replica
        self.peers = replica.map { PeerServices(secret: $0.log.secret, ringBytes: configuration.logRingBytes) }
        self.logger = logger
        self.group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.eventLoopCount)
        let eventLoops = Array(self.group.makeIterator())
        let engineMemory = EngineMemory(totalBytesMax: configuration.memoryBytesMax)
        let memory = ConnectionMemory(
            bytesMax: configuration.connectionBytesMax ?? engineMemory.connectionBytesMax,
            loopCount: eventLoops.count
        )
        self.engineMemory = engineMemory
        self.memory = memory
        self.loops = eventLoops.enumerated().map { index, eventLoop in
            ConnectionLoop(
                eventLoop: eventLoop,
                index: index,
                of: eventLoops.count,
                memory: memory,
                outputBytesMax: configuration.outputBytesMax
            )
        }
        let slots = Descriptors.slots(
            wanted: configuration.connectionsMax,
            files: configuration.webFilesOpenMax
        )
        self.limiter = ConnectionLimiter(max: slots.served, refusedMax: slots.refused)
        self.spool = SpoolBudget(bytesMax: configuration.spoolBytesMax)
        self.access = AccessTable(configuration.authentication)
    }

    /// Returns the objects that all connections share, once the store is open.
    func context(_ engine: EngineThread, _ opened: EngineThread.Opened) -> ServerContext {
        ServerContext(
            configuration: self.configuration,
            engine: engine,
            exports: NIOThreadPool(numberOfThreads: Limits.transferThreads),
            files: NIOThreadPool(numberOfThreads: Limits.transferThreads),
            spool: self.spool,
            memory: self.memory,
            answers: self.engineMemory.answers,
            access: self.access,
            tls: self.configuration.tls,
            metrics: self.metrics,
            limiter: self.limiter,
            clients: ClientDirectory(loops: self.loops, engine: engine),
            replica: self.replica,
            peers: self.peers,
            logger: self.logger
        )
    }

    /// Whether the server is a node of a cluster.
    var hasPeers: Bool { self.replica != nil }

    var levels: ServerMetrics.Levels {
        ServerMetrics.Levels(
            connections: self.limiter.count,
            spoolBytes: self.spool.byteCount,
            connectionBytes: self.memory.byteCount
        )
    }

    /// Passes a delivery to the loops that have its recipients, in one hop to each. Called on the engine's thread, and
    /// on the threads of the standby. `commits` returns the times of the last commits, for STATISTICS.
    func deliver(_ delivery: EngineDelivery, commits: @escaping @Sendable () -> CommitTimes.Summary) {
        let mustExpelAnonymous = delivery.hasTokenChanges && self.takeTokenChanges(delivery.effects)
        self.peers?.feed.take(delivery.effects)
        self.replica?.take(delivery.effects)
        let concerned = ConnectionLoop.concerned(by: delivery.effects, self.loops)
        for loop in concerned {
            let statistics = { @Sendable in self.metrics.statistics(self.levels, commits()) }
            loop.eventLoop.execute {
                if let gate = delivery.gate {
                    loop.deliver(delivery.effects, gate, serverStatistics: statistics)
                } else {
                    loop.deliver(delivery.effects, serverStatistics: statistics)
                }
                withExtendedLifetime(delivery) {}
            }
        }
        if mustExpelAnonymous {
            for loop in self.loops { loop.eventLoop.execute { loop.expelAnonymous() } }
        }
        var counts = ServerMetrics.Counts()
        counts.batches = 1
        counts.hops = 1 + concerned.count
        self.metrics.add(counts)
    }

    /// Applies token changes. Returns whether the server requires tokens because of them.
    private func takeTokenChanges(_ effects: [EngineEffect]) -> Bool {
        let wasTokenRequired = self.access.isTokenRequired
        self.access.take(effects, self.logger)
        return !wasTokenRequired && self.access.isTokenRequired
    }
}
