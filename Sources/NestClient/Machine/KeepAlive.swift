import NIOCore
import NestModel
import NestProtocol

/// Whether the server still lives: asks after a silence, gives up after another.
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

    /// Any bytes count as a sign of life.
    package mutating func received(now: NIODeadline) {
        self.lastReceived = now
        self.askedAt = nil
    }

    /// `isReading`: while the socket is not read on purpose, silence says nothing.
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

    /// How often `check` is worth calling.
    package var checkInterval: TimeAmount { min(self.interval, .seconds(1)) }
}
