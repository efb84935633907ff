import NIOConcurrencyHelpers
import NIOCore
import NestModel

/// Counts connections, so that descriptors never run out: a listener that cannot accept for want of them would spin.
///
/// Up to `max` connections are served; a few more are accepted only to be told that the server is busy; while there are
/// as many of those as may be, the listener waits.
package final class ConnectionGate: Sendable {
    private struct State {
        var served = 0
        var refused = 0
        /// Called once when the listener may accept again.
        var resume: (@Sendable () -> Void)?
        var max: Int
    }

    private let refusedMax: Int
    private let state: NIOLockedValueBox<State>

    package init(max: Int, refusedMax: Int = Limits.refusedConnectionsMax) {
        self.refusedMax = refusedMax
        self.state = NIOLockedValueBox(State(max: max))
    }

    /// How many are served at the most. Those that are served already stay when it becomes less.
    package var max: Int {
        get { self.state.withLockedValue { $0.max } }
        set { self.state.withLockedValue { $0.max = newValue } }
    }

    /// Connections that are served.
    package var count: Int { self.state.withLockedValue { $0.served } }

    /// A connection is there. Returns whether it may be served.
    package func enter() -> Bool {
        self.state.withLockedValue { state in
            let isServed = state.served < state.max
            if isServed { state.served += 1 } else { state.refused += 1 }
            return isServed
        }
    }

    /// A connection is gone; `isServed` is what `enter` said of it.
    package func leave(isServed: Bool) {
        let resume = self.state.withLockedValue { state -> (@Sendable () -> Void)? in
            if isServed { state.served -= 1 } else { state.refused -= 1 }
            guard state.refused < self.refusedMax else { return nil }
            defer { state.resume = nil }
            return state.resume
        }
        resume?()
    }

    /// Whether the listener may accept. If not, `resume` is called when it may, on any thread.
    package func mayAccept(orResume resume: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLockedValue { state in
            guard state.refused >= self.refusedMax else { return true }
            state.resume = resume
            return false
        }
    }
}

/// Holds back the listener's accepting while the gate is full.
final class AcceptHandler: ChannelOutboundHandler {
    typealias OutboundIn = Never

    private let gate: ConnectionGate

    init(gate: ConnectionGate) {
        self.gate = gate
    }

    func read(context: ChannelHandlerContext) {
        let channel = context.channel
        if self.gate.mayAccept(orResume: { channel.read() }) { context.read() }
    }
}
