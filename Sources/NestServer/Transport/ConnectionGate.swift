import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestProtocol

/// Counts connections, so that descriptors never run out: a listener that cannot accept for want of them would spin.
///
/// Up to `max` connections are served, up to `perAddressMax` of them from one address; a few more are accepted only to be
/// told that the server is busy; while there are as many as there are descriptors for, the listener waits.
package final class ConnectionGate: Sendable {
    private struct State {
        /// Accepted and not yet closed.
        var open = 0
        var served = 0
        var byAddress: [AddressKey: Int] = [:]
        /// Called once when the listener may accept again.
        var resume: (@Sendable () -> Void)?
        var max: Int
        /// Those that may end before they are clients.
        var rejections: TokenBucket
    }

    /// What a connection that came is told.
    package enum Entry: Equatable, Sendable {
        case served
        /// There is no place.
        case full
        /// Its address has as many places as one may have.
        case addressFull
    }

    private let refusedMax: Int
    private let perAddressMax: Int
    private let state: NIOLockedValueBox<State>

    package init(
        max: Int,
        refusedMax: Int = Limits.refusedConnectionsMax,
        perAddressMax: Int = Limits.connectionsPerAddressMax,
        now: NIODeadline = .now()
    ) {
        self.refusedMax = refusedMax
        self.perAddressMax = perAddressMax
        let rate = TokenBucket.Rate(perSecond: Limits.rejectedPerSecondMax, burst: Limits.rejectedBurstMax)
        self.state = NIOLockedValueBox(State(max: max, rejections: TokenBucket(rate, now: now)))
    }

    /// How many are served at the most. Those that are served already stay when it becomes less.
    package var max: Int {
        get { self.state.withLockedValue { $0.max } }
        set { self.state.withLockedValue { $0.max = newValue } }
    }

    /// Connections that are served.
    package var count: Int { self.state.withLockedValue { $0.served } }

    /// A connection is there: whether it may be served. If so, `leave` must follow.
    package func enter(_ address: AddressKey?) -> Entry {
        self.state.withLockedValue { state in
            guard state.served < state.max else { return .full }
            if let address {
                // A tenth of few places is left to others too.
                let perAddressMax = Swift.min(self.perAddressMax, state.max - state.max / 10)
                guard state.byAddress[address, default: 0] < perAddressMax else { return .addressFull }
                state.byAddress[address, default: 0] += 1
            }
            state.served += 1
            return .served
        }
    }

    /// A connection that was served is served no more.
    package func leave(_ address: AddressKey?) {
        self.state.withLockedValue { state in
            state.served -= 1
            guard let address, let count = state.byAddress[address] else { return }
            state.byAddress[address] = count > 1 ? count - 1 : nil
        }
    }

    /// A connection has been accepted: it holds a descriptor until `closed`.
    package func accepted() {
        self.state.withLockedValue { $0.open += 1 }
    }

    package func closed() {
        let resume = self.state.withLockedValue { state -> (@Sendable () -> Void)? in
            state.open -= 1
            guard state.open < state.max + self.refusedMax else { return nil }
            defer { state.resume = nil }
            return state.resume
        }
        resume?()
    }

    /// A connection has ended before it was a client.
    package func rejected(now: NIODeadline = .now()) {
        self.state.withLockedValue { _ = $0.rejections.take { now } }
    }

    /// Whether so many come for nothing that those who work must be given room between them.
    package func isHarassed(now: NIODeadline = .now()) -> Bool {
        self.state.withLockedValue { $0.rejections.isEmpty(now: now) }
    }

    /// Whether the listener may accept. If not, `resume` is called when it may, on any thread.
    package func mayAccept(orResume resume: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLockedValue { state in
            guard state.open >= state.max + self.refusedMax else { return true }
            state.resume = resume
            return false
        }
    }
}
