import NIOCore

/// Limits a rate: `perSecond` on average, with bursts of up to `burst`. It reads the clock only when the burst is used
/// up.
package struct TokenBucket: Sendable {
    package struct Rate: Equatable, Sendable {
        package var perSecond: Int
        package var burst: Int

        package init(perSecond: Int, burst: Int) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    private let rate: Rate
    private var tokens: Int
    /// The time up to which tokens were added.
    private var filledAt: NIODeadline

    /// Creates a full bucket.
    package init(_ rate: Rate, now: NIODeadline) {
        self.rate = rate
        self.tokens = rate.burst
        self.filledAt = now
    }

    /// Takes a token. Returns whether there was one.
    package mutating func take(now: () -> NIODeadline = { .now() }) -> Bool {
        if self.tokens == 0 { self.fill(now: now()) }
        guard self.tokens > 0 else { return false }
        self.tokens -= 1
        return true
    }

    /// Whether no token is left.
    package mutating func isEmpty(now: NIODeadline) -> Bool {
        if self.tokens == 0 { self.fill(now: now) }
        return self.tokens == 0
    }

    private mutating func fill(now: NIODeadline) {
        let nanosecondsEach = Int64(1_000_000_000 / self.rate.perSecond)
        let due = (now - self.filledAt).nanoseconds / nanosecondsEach
        guard due > 0 else { return }
        self.tokens = min(self.rate.burst, Int(min(due, Int64(self.rate.burst))))
        // Time beyond a full bucket is lost; the time of a partial token counts later.
        self.filledAt = due < Int64(self.rate.burst) ? self.filledAt + .nanoseconds(due * nanosecondsEach) : now
    }
}
