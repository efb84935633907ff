import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestProtocol

/// Counts connections, so that descriptors never run out: a listener without a free descriptor would spin.
///
/// It gives slots to up to `max` connections, and to up to `perAddressMax` from one address. The listener accepts up to
/// `refusedMax` more, only to refuse them as busy, and then waits.
package final class ConnectionLimiter: Sendable {
    private struct State {
        /// Accepted and not yet closed.
        var open = 0
        var served = 0
        /// Connections that wait for HELLO without a slot.
        var waiting = 0
        var byAddress: [AddressKey: Int] = [:]
        /// Called once when the listeners may accept again.
        var resumes: [@Sendable () -> Void] = []
        var max: Int
        /// Limits the rate of connections that end before WELCOME.
        var rejections: TokenBucket
    }

    /// The answer to a new connection.
    package enum Entry: Equatable, Sendable {
        case served
        /// No slot is free.
        case full
        /// Its address has its maximum number of slots.
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

    /// The number of slots. Lowering it does not end connections that hold one.
    package var max: Int {
        get { self.state.withLockedValue { $0.max } }
        set { self.state.withLockedValue { $0.max = newValue } }
    }

    /// The number of connections that hold a slot.
    package var count: Int { self.state.withLockedValue { $0.served } }

    /// Gives a new connection a slot if one is free. If so, `leave` must follow.
    package func enter(_ address: AddressKey?) -> Entry {
        self.state.withLockedValue { state in
            guard state.served < state.max else { return .full }
            if let address {
                // A tenth of the slots is always left to other addresses.
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

    /// Lets a connection without a slot wait for HELLO: it may be another node of the cluster, which needs none. If it
    /// returns true, `stopWaiting` must follow.
    package func mayWait() -> Bool {
        self.state.withLockedValue { state in
            guard state.waiting < Limits.peerHandshakesMax else { return false }
            state.waiting += 1
            return true
        }
    }

    package func stopWaiting() { self.state.withLockedValue { $0.waiting -= 1 } }

    /// Counts a connection that the listener has accepted. It holds a descriptor until `closed`.
    package func accepted() {
        self.state.withLockedValue { $0.open += 1 }
    }

    package func closed() {
        let resumes = self.state.withLockedValue { state -> [@Sendable () -> Void] in
            state.open -= 1
            guard state.open < state.max + self.refusedMax else { return [] }
            defer { state.resumes = [] }
            return state.resumes
        }
        for resume in resumes { resume() }
    }

    /// Counts a connection that ended before WELCOME.
    package func rejected(now: NIODeadline = .now()) {
        self.state.withLockedValue { _ = $0.rejections.take { now } }
    }

    /// Whether so many connections end before WELCOME that the listener must leave time for the clients.
    package func mustPace(now: NIODeadline = .now()) -> Bool {
        self.state.withLockedValue { $0.rejections.isEmpty(now: now) }
    }

    /// Whether a listener may accept. If not, `resume` is called when it may, on any thread: it must ask again, because
    /// another listener may have been faster.
    package func mayAccept(orResume resume: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLockedValue { state in
            guard state.open >= state.max + self.refusedMax else { return true }
            state.resumes.append(resume)
            return false
        }
    }
}
