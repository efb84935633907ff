import NIOConcurrencyHelpers
import NIOCore

/// The state of the server.
package enum Health: Equatable, Sendable {
    /// The store is being opened, and perhaps migrated.
    case starting
    /// A node of a cluster cannot serve the newest state: it joins, or does not reach the log. The reason.
    case waiting(String)
    case ready
    /// The server stops: it finishes what is in flight and accepts nothing new.
    case draining
    /// The server has failed and is about to end.
    case failed(String)
}

/// The current health of the server. The server sets it; the operations pages read it.
package final class HealthBoard: Sendable {
    private struct State {
        var health = Health.starting
        /// When the pending beat was sent; `nil` when no beat is pending.
        var beatSince: NIODeadline?
    }

    /// How long a beat may be pending. It must exceed the longest single transaction, which holds the engine.
    package static let beatTimeout = TimeAmount.seconds(60)

    /// A beat that is pending for longer means that the engine is busy with one long transaction.
    package static let busyTimeout = TimeAmount.seconds(2)

    private let state = NIOLockedValueBox(State())

    package init() {}

    package var health: Health { self.state.withLockedValue { $0.health } }

    /// Sets the health. A server that stops or has failed does not become ready again.
    package func set(_ health: Health) {
        self.state.withLockedValue { state in
            switch (state.health, health) {
            case (.failed, _), (.draining, .starting), (.draining, .ready), (.draining, .waiting): break
            default:
                state.health = health
                // A node that opens its store again has ended the threads that would answer.
                if case .waiting = health { state.beatSince = nil }
            }
        }
    }

    package var isReady: Bool { self.health == .ready && self.isAlive(at: .now()) }

    /// Whether the server has not failed, and its threads have answered a beat within `beatTimeout`.
    package func isAlive(at now: NIODeadline) -> Bool {
        self.state.withLockedValue { state in
            if case .failed = state.health { return false }
            return state.beatSince.map { now < $0 + Self.beatTimeout } ?? true
        }
    }

    /// Returns for how many seconds the engine has been busy with one transaction; `nil` when that is not long. The
    /// server is still well: the standby answers reads.
    package func busySeconds(at now: NIODeadline) -> Int64? {
        self.state.withLockedValue { state in
            guard let since = state.beatSince, now >= since + Self.busyTimeout else { return nil }
            return (now - since).nanoseconds / 1_000_000_000
        }
    }

    /// Begins a beat. Returns whether to send it: only one beat is pending at a time.
    package func beginBeat(at now: NIODeadline) -> Bool {
        self.state.withLockedValue { state in
            guard state.beatSince == nil else { return false }
            state.beatSince = now
            return true
        }
    }

    package func endBeat() {
        self.state.withLockedValue { $0.beatSince = nil }
    }
}
