import Glibc
import Logging
import NIOCore
import NestModel
import NestProtocol

/// The listener's side of the gate: accepts only while there is room, and rests when the system cannot give what a
/// connection needs, or while most connections come for nothing.
///
/// Without the rest the listener would spin: a socket that cannot be accepted stays readable.
final class AcceptHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never

    private let gate: ConnectionGate
    private let metrics: ServerMetrics
    private let logger: Logger
    private var isResting = false
    /// When it was last logged that nothing can be accepted.
    private var loggedAt: NIODeadline?

    init(gate: ConnectionGate, metrics: ServerMetrics, logger: Logger) {
        self.gate = gate
        self.metrics = metrics
        self.logger = logger
    }

    func read(context: ChannelHandlerContext) {
        let channel = context.channel
        if self.gate.mayAccept(orResume: { channel.read() }) { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let gate = self.gate
        gate.accepted()
        self.unwrapInboundIn(data).closeFuture.whenComplete { _ in gate.closed() }
        context.fireChannelRead(data)
    }

    /// What was ready, a few, has been accepted. The others of the event loop have their turn before more of it when most come
    /// for nothing.
    func channelReadComplete(context: ChannelHandlerContext) {
        if self.gate.isHarassed() {
            self.rest(context: context, for: .milliseconds(Int64(Limits.acceptPaceMilliseconds)))
        }
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        self.noteFailure(error)
        self.rest(context: context, for: .milliseconds(Int64(Limits.acceptPauseMilliseconds)))
    }

    private func noteFailure(_ error: IOError) {
        var counts = ServerMetrics.Counts()
        counts.acceptPauses = 1
        self.metrics.add(counts)
        let now = NIODeadline.now()
        if self.loggedAt.map({ now - $0 > .seconds(10) }) ?? true {
            self.loggedAt = now
            self.logger.warning("accept.paused", metadata: ["reason": "\(LogText.reason(error))"])
        }
    }

    /// Takes no interest in new connections for a while.
    private func rest(context: ChannelHandlerContext, for pause: TimeAmount) {
        guard !self.isResting else { return }
        self.isResting = true
        // Only this makes the event loop forget the socket; holding back `read` does not.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        let channel = context.channel
        context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
            self.isResting = false
            // A listener that has been closed meanwhile has no options.
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
