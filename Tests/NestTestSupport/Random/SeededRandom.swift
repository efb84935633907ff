/// A random generator that repeats itself from its seed: SplitMix64 (Steele, Lea, Flood, 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64
    /// What the next choices are made by; behind them the seed goes on alone.
    private var bytes: ArraySlice<UInt8>?

    public init(seed: UInt64) {
        // Mixed, so that neighbours are not the same numbers one after the other.
        self.state = seed
        self.state = self.next()
    }

    /// Each byte decides one choice: a change of the one changes the other, which is what a fuzzer learns from.
    public init(bytes: [UInt8]) {
        self.init(seed: 0)
        self.bytes = bytes[...]
    }

    /// All bytes have been used; never true of a seed.
    public var isSpent: Bool { self.bytes?.isEmpty ?? false }

    public mutating func next() -> UInt64 {
        // Numbers below a bound are made of the highest bits.
        if let byte = self.bytes?.popFirst() { return UInt64(byte) << 56 | self.number() >> 8 }
        return self.number()
    }

    private mutating func number() -> UInt64 {
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
