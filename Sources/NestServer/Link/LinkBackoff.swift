/// The pause before the next attempt to connect to the leader: none after a link that was up, then it doubles. Each is
/// a random time between half of it and all of it, so that nodes do not come back at one moment.
struct LinkBackoff {
    private var attempts = 0
    private static let millisecondsMin: Int64 = 25
    private static let millisecondsMax: Int64 = 1_000

    mutating func ended(wasUp: Bool) {
        if wasUp { self.attempts = 0 }
    }

    /// Returns milliseconds.
    mutating func next(using random: inout some RandomNumberGenerator) -> Int64 {
        let pause = min(Self.millisecondsMin << min(self.attempts, 10), Self.millisecondsMax)
        self.attempts += 1
        return Int64.random(in: pause / 2...pause, using: &random)
    }
}
