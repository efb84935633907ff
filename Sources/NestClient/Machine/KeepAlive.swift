import NIOCore
import NestModel
import NestProtocol

/// Detects a dead server: sends a ping after a silence, and gives up after another silence.
package struct KeepAlive: Sendable {
    package enum Action: Equatable, Sendable {
        case none
        case ping
        case dead
    }

    private let interval: TimeAmount
    private var lastReceived: NIODeadline
    private var askedAt: NIODeadline?

    package init(interval: TimeAmount, now: NIODeadline) {
        self.interval = interval
        self.lastReceived = now
    }

    /// Records received bytes. Any bytes prove that the server is alive.
    package mutating func received(now: NIODeadline) {
        self.lastReceived = now
        self.askedAt = nil
    }

    /// `isReading`: silence proves nothing while the client deliberately does not read.
    package mutating func check(now: NIODeadline, isReading: Bool) -> Action {
        guard isReading else {
            self.received(now: now)
            return .none
        }
        if let askedAt = self.askedAt {
            return now - askedAt >= .seconds(Int64(Limits.pingTimeoutSeconds)) ? .dead : .none
        }
        guard now - self.lastReceived >= self.interval else { return .none }
        self.askedAt = now
        return .ping
    }

    /// The interval at which to call `check`.
    package var checkInterval: TimeAmount { min(self.interval, .seconds(1)) }
}
