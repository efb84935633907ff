/// A random number generator with a seed: SplitMix64 (Steele, Lea, Flood, 2014).
struct ProxyRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
        // Mixed, so that similar seeds give unrelated numbers.
        self.state = self.next()
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// Returns a random number in the range.
    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}
