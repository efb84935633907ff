import NIOCore
import NestEngine
import NestModel
import NestStore
import NestProtocol

/// What a server is told before it starts.
package struct ServerConfiguration: Sendable {
    package var host: String
    /// 0 for any free one.
    package var port: Int
    package var store: Store.Configuration
    /// When a client needs a token.
    package var authentication = AccessTable.Policy.ifTokens
    /// `nil`: nothing is encrypted.
    package var tls: ServerTLS?
    /// How WELCOME names the server.
    package var serverName: String
    package var timing = Timing()
    package var connectionsMax = Limits.connectionsMax
    package var spoolBytesMax = Limits.spoolBytesMax
    package var outputBytesMax = Limits.outputBytesMax
    /// Bytes left beside the store under which no write is taken.
    package var diskFreeBytesMin = Limits.diskFreeBytesMin
    /// What one write may cost, and one by a token that is confined to a sub-tree.
    package var writeStepsMax = Limits.writeStepsMax
    package var confinedWriteStepsMax = Limits.confinedWriteStepsMax
    /// What is held for clients in all.
    package var memoryBytesMax = Limits.memoryBytesMax
    /// What connections hold of it; `nil`: a quarter.
    package var connectionBytesMax: Int?
    package var lightFrames = TokenBucket.Rate(
        perSecond: Limits.lightFramesPerSecondMax,
        burst: Limits.lightFramesBurstMax
    )
    /// Threads that serve connections; the engine has one more.
    package var eventLoopCount = max(1, min(4, System.coreCount - 1))
    /// Called on the engine's thread, which waits for it. For tests.
    package var onEngineStage: (@Sendable (EngineStage, [EngineInput]) -> Void)?
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
        package var linger = TimeAmount.seconds(Int64(Limits.lingerSeconds))
        /// For one read transaction beside the commits.
        package var readTransaction = TimeAmount.seconds(Int64(Limits.readTransactionSecondsMax))
        package var shutdown = TimeAmount.seconds(Int64(Limits.shutdownSeconds))
        /// How often the others are looked at.
        package var sweep = TimeAmount.seconds(1)

        package init() {}
    }
}
