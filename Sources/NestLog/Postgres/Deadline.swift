/// The end of a wait.
struct Deadline {
    private let instant: ContinuousClock.Instant

    init(after duration: Duration) {
        self.instant = ContinuousClock.now + duration
    }

    var isOver: Bool { ContinuousClock.now >= self.instant }

    /// The milliseconds that are left, rounded up, as poll(2) takes them.
    var milliseconds: Int32 {
        let left = (self.instant - ContinuousClock.now) / .milliseconds(1)
        return left <= 0 ? 0 : Int32(min(left.rounded(.up), 1_000_000))
    }
}
