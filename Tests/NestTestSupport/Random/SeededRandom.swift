/// A deterministic random generator: SplitMix64 (Steele, Lea, Flood, 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64
    /// Bytes that decide the next choices. After them the seed decides.
    private var bytes: ArraySlice<UInt8>?

    public init(seed: UInt64) {
        // Mix the seed, so that neighbouring seeds do not give shifted sequences.
        self.state = seed
        self.state = self.next()
    }

    /// Creates a generator in which each byte decides one choice, so that a fuzzer can change single choices.
    public init(bytes: [UInt8]) {
        self.init(seed: 0)
        self.bytes = bytes[...]
    }

    /// Whether all bytes have been used; always `false` without bytes.
    public var isSpent: Bool { self.bytes?.isEmpty ?? false }

    public mutating func next() -> UInt64 {
        // `below` uses the highest bits.
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

    /// Returns a number in `0..<bound`.
    public mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &self)
    }

    /// Returns `true` with probability 1/n.
    public mutating func oneIn(_ n: Int) -> Bool {
        self.below(n) == 0
    }
}
