import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestProtocol

/// Counts connections, so that descriptors never run out: a listener that cannot accept for want of them would spin.
///
/// It gives slots to up to `max` connections, and to up to `perAddressMax` from one address. The listener accepts a few
/// more only to refuse them as busy, and waits once there are as many as there are descriptors for.
package final class ConnectionLimiter: Sendable {
    private struct State {
        /// Accepted and not yet closed.
        var open = 0
        var served = 0
        var byAddress: [AddressKey: Int] = [:]
        /// Called once when the listener may accept again.
        var resume: (@Sendable () -> Void)?
        var max: Int
        /// Connections that may end before they are clients.
        var rejections: TokenBucket
    }

    /// The answer to a new connection.
    package enum Entry: Equatable, Sendable {
        case served
        /// No slot is free.
        case full
        /// Its address has as many slots as one may have.
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

    /// The number of slots. Connections that are served already stay when it becomes smaller.
    package var max: Int {
        get { self.state.withLockedValue { $0.max } }
        set { self.state.withLockedValue { $0.max = newValue } }
    }

    /// Connections that are served.
    package var count: Int { self.state.withLockedValue { $0.served } }

    /// Gives a new connection a slot if there is one. If so, `leave` must follow.
    package func enter(_ address: AddressKey?) -> Entry {
        self.state.withLockedValue { state in
            guard state.served < state.max else { return .full }
            if let address {
                // However few slots there are, a tenth is left to other addresses.
                let perAddressMax = Swift.min(self.perAddressMax, state.max - state.max / 10)
                guard state.byAddress[address, default: 0] < perAddressMax else { return .addressFull }
                state.byAddress[address, default: 0] += 1
            }
            state.served += 1
            return .served
        }
    }

    /// Frees the slot of a connection.
    package func leave(_ address: AddressKey?) {
        self.state.withLockedValue { state in
            state.served -= 1
            guard let address, let count = state.byAddress[address] else { return }
            state.byAddress[address] = count > 1 ? count - 1 : nil
        }
    }

    /// The listener has accepted a connection, which holds a descriptor until `closed`.
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

    /// Whether so many connections end before they are clients that the listener must leave time for the clients.
    package func mustPace(now: NIODeadline = .now()) -> Bool {
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
