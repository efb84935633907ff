import NIOCore

/// So many a second for long, and a burst at once. Asks for the time only when the burst is used up.
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
    /// Up to when tokens have been given.
    private var filledAt: NIODeadline

    /// Full.
    package init(_ rate: Rate, now: NIODeadline) {
        self.rate = rate
        self.tokens = rate.burst
        self.filledAt = now
    }

    /// Whether there is one left; takes it.
    package mutating func take(now: () -> NIODeadline = { .now() }) -> Bool {
        if self.tokens == 0 { self.fill(now: now()) }
        guard self.tokens > 0 else { return false }
        self.tokens -= 1
        return true
    }

    /// Whether there is none left.
    package mutating func isEmpty(now: NIODeadline) -> Bool {
        if self.tokens == 0 { self.fill(now: now) }
        return self.tokens == 0
    }

    private mutating func fill(now: NIODeadline) {
        let nanosecondsEach = Int64(1_000_000_000 / self.rate.perSecond)
        let due = (now - self.filledAt).nanoseconds / nanosecondsEach
        guard due > 0 else { return }
        self.tokens = min(self.rate.burst, Int(min(due, Int64(self.rate.burst))))
        // What is over the burst is lost; what is below one token counts later.
        self.filledAt = due < Int64(self.rate.burst) ? self.filledAt + .nanoseconds(due * nanosecondsEach) : now
    }
}
