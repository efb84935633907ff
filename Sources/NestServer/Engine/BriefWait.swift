/// When the engine's thread looks for the next batch for a moment before it sleeps: to be woken costs a client that sends one
/// request at a time a fifth of its answer's time.
///
/// Where the next one hardly ever comes so soon it stops, and tries again now and then, so that an idle processor stays idle.
package struct BriefWait: Sendable {
    /// Larger batches than this come from many clients or from one that does not wait: to be woken costs little of those.
    package static let requestsMax = 8
    /// How long: about what an answer takes to its client and the next request back.
    package static let nanoseconds: UInt64 = 150_000
    /// So many times in vain, and it stops.
    package static let missesMax = 8
    /// After so many batches without it tries once.
    package static let retryBatches = 256

    private let isUseful: Bool
    private var until: UInt64?
    private var misses = 0
    private var skipped = 0

    /// With one processor whoever looks keeps away what it looks for.
    package init(processors: Int) { self.isUseful = processors > 1 }

    /// A batch with so many requests has been answered.
    package mutating func begin(after requestCount: Int, now: UInt64) {
        guard self.isUseful, (1...Self.requestsMax).contains(requestCount) else { return }
        if self.misses == Self.missesMax {
            self.skipped += 1
            guard self.skipped == Self.retryBatches else { return }
            self.skipped = 0
        }
        self.until = now + Self.nanoseconds
    }

    /// Nothing has come yet: whether to look again.
    package mutating func goesOn(now: UInt64) -> Bool {
        guard let until = self.until else { return false }
        if now < until { return true }
        self.until = nil
        self.misses = min(self.misses + 1, Self.missesMax)
        return false
    }

    /// Something has come.
    package mutating func end() {
        guard self.until != nil else { return }
        self.until = nil
        self.misses = 0
    }
}
