/// A random generator that repeats itself from its seed: SplitMix64 (Steele, Lea, Flood, 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) {
        // Mixed, so that neighbours are not the same numbers one after the other.
        self.state = seed
        self.state = self.next()
    }

    public mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// 0 ..< bound.
    public mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &self)
    }

    /// True once in `n` on average.
    public mutating func oneIn(_ n: Int) -> Bool {
        self.below(n) == 0
    }
}
