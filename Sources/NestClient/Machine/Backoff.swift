import NestModel
import NestProtocol

/// How long to wait before the next attempt to connect.
///
/// The first attempt after a good connection is made at once; then pauses double from `reconnectMillisecondsMin` to
/// the longest, each cut to a random part of its upper half, so that clients of a server that comes
/// back do not all come at the same moment.
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

    /// The connection before lived so long.
    package mutating func connectionLived(milliseconds: Int) {
        if milliseconds >= Limits.reconnectHealthySeconds * 1_000 { self.attempts = 0 }
    }
}
