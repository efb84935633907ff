/// Decides whether the engine's thread spins for a moment before it parks: waking it would take a fifth of the time of
/// an answer to a client that sends one request at a time.
///
/// When the next batch hardly ever comes so soon the thread stops spinning, and tries again now and then, so that an
/// idle processor stays idle.
package struct SpinThenPark: Sendable {
    /// Larger batches come from many clients, or from one that does not wait for answers: waking costs these little.
    package static let requestsMax = 8
    /// How long to spin: about as long as an answer takes to its client and the next request back.
    package static let nanoseconds: UInt64 = 150_000
    /// After so many spins in vain the thread stops spinning.
    package static let missesMax = 8
    /// After so many batches without a spin it tries once.
    package static let retryBatches = 256

    private let isUseful: Bool
    private var until: UInt64?
    private var misses = 0
    private var skipped = 0

    /// With one processor spinning would delay the very thread it waits for.
    package init(processors: Int) { self.isUseful = processors > 1 }

    /// The engine has answered a batch with so many requests.
    package mutating func begin(after requestCount: Int, now: UInt64) {
        guard self.isUseful, (1...Self.requestsMax).contains(requestCount) else { return }
        if self.misses == Self.missesMax {
            self.skipped += 1
            guard self.skipped == Self.retryBatches else { return }
            self.skipped = 0
        }
        self.until = now + Self.nanoseconds
    }

    /// Whether to look for a batch again, when there is none yet.
    package mutating func spins(now: UInt64) -> Bool {
        guard let until = self.until else { return false }
        if now < until { return true }
        self.until = nil
        self.misses = min(self.misses + 1, Self.missesMax)
        return false
    }

    /// A batch has come.
    package mutating func end() {
        guard self.until != nil else { return }
        self.until = nil
        self.misses = 0
    }
}
