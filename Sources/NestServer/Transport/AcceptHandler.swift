import Glibc
import Logging
import NIOCore
import NestModel
import NestProtocol

/// Accepts connections while the connection limiter allows it. Pauses when the system has no descriptor or memory for
/// another connection, also before the last descriptors are used, and while most connections end before WELCOME.
///
/// Without the pause the listener would spin: a socket that cannot be accepted stays readable.
final class AcceptHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never

    private let limiter: ConnectionLimiter
    private let metrics: ServerMetrics
    private let logger: Logger
    private var isPaused = false
    /// When the handler last logged each event.
    private var loggedAt: [String: NIODeadline] = [:]

    init(limiter: ConnectionLimiter, metrics: ServerMetrics, logger: Logger) {
        self.limiter = limiter
        self.metrics = metrics
        self.logger = logger
    }

    func read(context: ChannelHandlerContext) {
        let channel = context.channel
        if self.limiter.mayAccept(orResume: { channel.read() }) { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let limiter = self.limiter
        let connection = self.unwrapInboundIn(data)
        guard Descriptors.hasSpare else {
            connection.close(promise: nil)
            return self.pauseForLack(IOError(errnoCode: EMFILE, reason: "accept"), context)
        }
        limiter.accepted()
        connection.closeFuture.whenComplete { _ in limiter.closed() }
        context.fireChannelRead(data)
    }

    /// Called when the few connections that were ready have been accepted. When most connections end before WELCOME,
    /// lets the other connections of the event loop have their turn before more are accepted.
    func channelReadComplete(context: ChannelHandlerContext) {
        if self.limiter.mustPace() {
            self.pause(context: context, for: .milliseconds(Int64(Limits.acceptPaceMilliseconds)))
        }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else {
            // The connection is gone, or the system closes the listener; the server then ends.
            self.log("accept.failed", error)
            return context.fireErrorCaught(error)
        }
        self.pauseForLack(error, context)
    }

    private func pauseForLack(_ error: IOError, _ context: ChannelHandlerContext) {
        var counts = ServerMetrics.Counts()
        counts.acceptPauses = 1
        self.metrics.add(counts)
        self.log("accept.paused", error)
        self.pause(context: context, for: .milliseconds(Int64(Limits.acceptPauseMilliseconds)))
    }

    /// Logs an event, but not more often than every ten seconds.
    private func log(_ event: String, _ error: any Error) {
        let now = NIODeadline.now()
        guard self.loggedAt[event].map({ now - $0 > .seconds(10) }) ?? true else { return }
        self.loggedAt[event] = now
        self.logger.warning("\(event)", metadata: ["reason": "\(LogText.reason(error))"])
    }

    /// Ignores new connections for a while.
    private func pause(context: ChannelHandlerContext, for time: TimeAmount) {
        guard !self.isPaused else { return }
        self.isPaused = true
        // Only this stops the event loop from watching the socket; holding back `read` does not.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        let channel = context.channel
        context.eventLoop.assumeIsolated().scheduleTask(in: time) {
            self.isPaused = false
            // A listener that has been closed meanwhile has no options.
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
