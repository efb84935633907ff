import NIOCore
import NestEngine
import NestModel
import NestStore
import NestProtocol

/// The settings of a server.
package struct ServerConfiguration: Sendable {
    package var host: String
    /// 0: any free port.
    package var port: Int
    package var store: Store.Configuration
    /// `nil`: no port for web pages.
    package var web: WebConfiguration?
    /// The number of files that the web port may have open.
    var webFilesOpenMax: Int { self.web?.root == nil ? 0 : Limits.webFilesOpenMax }
    /// `nil`: a single node.
    package var replica: ReplicaConfiguration?
    /// When a client needs a token.
    package var authentication = AccessTable.Policy.ifTokens
    /// `nil`: nothing is encrypted.
    package var tls: ServerTLS?
    /// The server's name in WELCOME.
    package var serverName: String
    /// `nil`: a single node.
    package var cluster: ClusterAnswers?
    package var timing = Timing()
    package var connectionsMax = Limits.connectionsMax
    package var spoolBytesMax = Limits.spoolBytesMax
    package var outputBytesMax = Limits.outputBytesMax
    /// The maximum number of bytes of one large value.
    package var largeValueBytesMax = Limits.largeValueBytesMax
    /// The minimum of free bytes on the store's disk. Below it the server refuses writes.
    package var diskFreeBytesMin = Limits.diskFreeBytesMin
    /// The maximum number of steps of one write.
    package var writeStepsMax = Limits.writeStepsMax
    /// The same for a confined token.
    package var confinedWriteStepsMax = Limits.confinedWriteStepsMax
    /// The maximum memory that is held for clients.
    package var memoryBytesMax = Limits.memoryBytesMax
    /// The part of it that connections may hold; `nil`: a quarter.
    package var connectionBytesMax: Int?
    /// The maximum rate of control frames of one client.
    package var controlFrames = TokenBucket.Rate(
        perSecond: Limits.controlFramesPerSecondMax,
        burst: Limits.controlFramesBurstMax
    )
    /// Threads that serve connections; the engine has one more.
    package var eventLoopCount = max(1, min(4, System.coreCount - 1))
    /// The clock that expires tokens, in microseconds since 1970-01-01 UTC. Tests set it.
    package var now: @Sendable () -> Int64 = { WallClock.now() }
    /// Called on the engine's thread, which waits for it. For tests and traces.
    package var onEngineStage: (@Sendable (EngineStage, [EngineInput]) -> Void)?
    /// The bytes of the newest records that a leader keeps for its followers.
    package var logRingBytes = Limits.logRingBytes
    /// The kernel's buffer for a connection's output; `nil` leaves it to the kernel.
    package var socketSendBytes: Int?

    package init(host: String, port: Int, store: Store.Configuration, serverName: String) {
        self.host = host
        self.port = port
        self.store = store
        self.serverName = serverName
    }

    /// Every time-out of the server. Tests make them short.
    package struct Timing: Sendable {
        package var handshake = TimeAmount.seconds(Int64(Limits.handshakeSeconds))
        package var frame = TimeAmount.seconds(Int64(Limits.frameSeconds))
        package var pingInterval = TimeAmount.seconds(Int64(Limits.pingIntervalSeconds))
        package var pingTimeout = TimeAmount.seconds(Int64(Limits.pingTimeoutSeconds))
        package var outputStall = TimeAmount.seconds(Int64(Limits.outputStallSeconds))
        /// The time for which a connection of the web port may wait for its next request.
        package var webIdle = TimeAmount.seconds(Int64(Limits.webIdleSeconds))
        package var linger = TimeAmount.seconds(Int64(Limits.lingerSeconds))
        /// The maximum time of one read transaction: while it lasts, the write-ahead log cannot be reset.
        package var readTransaction = TimeAmount.seconds(Int64(Limits.readTransactionSecondsMax))
        package var shutdown = TimeAmount.seconds(Int64(Limits.shutdownSeconds))
        /// The interval at which the time-outs of connections are checked.
        package var sweep = TimeAmount.seconds(1)

        package init() {}
    }
}
