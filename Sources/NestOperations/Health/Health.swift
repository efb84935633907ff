import NIOConcurrencyHelpers
import NIOCore

/// What the server can do at this moment.
package enum Health: Equatable, Sendable {
    /// The store is being opened, and perhaps migrated.
    case starting
    case ready
    /// It was asked to stop: what is in flight is finished, nothing new is taken.
    case draining
    /// It cannot go on, and is about to end.
    case failed(String)
}

/// Who asks how the server is looks here, who knows it writes here.
package final class HealthBoard: Sendable {
    private struct State {
        var health = Health.starting
        /// When the beat that is out was sent; `nil` when it came back.
        var beatSince: NIODeadline?
    }

    /// How long a beat may be out. The longest single transaction must fit: it holds the engine.
    package static let beatTimeout = TimeAmount.seconds(60)

    /// A beat that is out for longer says that the engine is busy with one long transaction.
    package static let busyTimeout = TimeAmount.seconds(2)

    private let state = NIOLockedValueBox(State())

    package init() {}

    package var health: Health { self.state.withLockedValue { $0.health } }

    /// A server that stops or failed does not come back.
    package func set(_ health: Health) {
        self.state.withLockedValue { state in
            switch (state.health, health) {
            case (.failed, _), (.draining, .starting), (.draining, .ready): break
            default: state.health = health
            }
        }
    }

    package var isReady: Bool { self.health == .ready && self.isAlive(at: .now()) }

    /// Whether the threads that do the work have shown lately that they do.
    package func isAlive(at now: NIODeadline) -> Bool {
        self.state.withLockedValue { state in
            if case .failed = state.health { return false }
            return state.beatSince.map { now < $0 + Self.beatTimeout } ?? true
        }
    }

    /// For how many seconds the engine has been at one piece of work; `nil` when that is not long. It is well all the same:
    /// reads are answered beside it.
    package func busySeconds(at now: NIODeadline) -> Int64? {
        self.state.withLockedValue { state in
            guard let since = state.beatSince, now >= since + Self.busyTimeout else { return nil }
            return (now - since).nanoseconds / 1_000_000_000
        }
    }

    /// A beat is due. Returns whether it may be sent: one is out at a time.
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
