/// Decides whether the engine's thread spins for a moment before it parks. For a client that sends one request at a
/// time, waking the thread would take a fifth of the time of an answer.
///
/// When the next batch rarely arrives that soon, the thread stops spinning and tries again only now and then, so that
/// an idle processor stays idle.
package struct SpinThenPark: Sendable {
    /// The largest batch after which to spin. Larger batches come from many clients, or from one that does not wait for
    /// answers: for these the cost of waking is small.
    package static let requestsMax = 8
    /// How long to spin: about the time in which an answer reaches its client and the next request arrives.
    package static let nanoseconds: UInt64 = 150_000
    /// The thread stops spinning after this many spins in a row without a new batch.
    package static let missesMax = 8
    /// After this many batches without a spin the thread tries once.
    package static let retryBatches = 256

    private let isUseful: Bool
    private var until: UInt64?
    private var misses = 0
    private var skipped = 0

    /// With one processor, spinning would delay the thread that it waits for.
    package init(processors: Int) { self.isUseful = processors > 1 }

    /// Begins to spin, if that is useful after a batch with `requestCount` requests.
    package mutating func begin(after requestCount: Int, now: UInt64) {
        guard self.isUseful, (1...Self.requestsMax).contains(requestCount) else { return }
        if self.misses == Self.missesMax {
            self.skipped += 1
            guard self.skipped == Self.retryBatches else { return }
            self.skipped = 0
        }
        self.until = now + Self.nanoseconds
    }

    /// Returns whether to look for a batch again when there is none yet.
    package mutating func spins(now: UInt64) -> Bool {
        guard let until = self.until else { return false }
        if now < until { return true }
        self.until = nil
        self.misses = min(self.misses + 1, Self.missesMax)
        return false
    }

    /// Ends the spin, because a batch has arrived.
    package mutating func end() {
        guard self.until != nil else { return }
        self.until = nil
        self.misses = 0
    }
}
