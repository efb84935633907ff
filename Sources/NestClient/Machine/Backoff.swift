import NestModel
import NestProtocol

/// The pause before the next attempt to connect.
///
/// The first attempt after a good connection is immediate. Then pauses double from `reconnectMillisecondsMin` to the
/// maximum. Each pause is a random value between half of it and all of it, so that the clients of a restarted server do
/// not reconnect at the same moment.
package struct Backoff: Sendable {
    private let millisecondsMax: Int
    private var attempts = 0

    package init(millisecondsMax: Int = Limits.reconnectMillisecondsMax) {
        self.millisecondsMax = millisecondsMax
    }

    package mutating func nextMilliseconds(using random: inout some RandomNumberGenerator) -> Int {
        defer { self.attempts += 1 }
        guard self.attempts > 0 else { return 0 }
        let doublings = min(self.attempts - 1, 20)
        let pause = min(Limits.reconnectMillisecondsMin << doublings, self.millisecondsMax)
        return Int.random(in: pause / 2...pause, using: &random)
    }

    /// Notes an attempt without a pause, at another address.
    package mutating func attemptedAtOnce() { self.attempts = max(self.attempts, 1) }

    /// Resets the pauses if the last connection lived long enough, and returns whether it did. `isNode`: it was to a
    /// node of a cluster.
    @discardableResult
    package mutating func connectionLived(milliseconds: Int, isNode: Bool = false) -> Bool {
        let healthy = isNode ? Limits.reconnectNodeHealthySeconds : Limits.reconnectHealthySeconds
        guard milliseconds >= healthy * 1_000 else { return false }
        self.attempts = 0
        return true
    }
}
