/// An order-sensitive hash over the rows of a result: a polynomial modulo 2^61 - 1 over one number per row.
///
/// `combined` is associative, so the nodes of a tree can store it, and the digest of a range combines O(log n) of them.
/// It covers order, sections and membership, not values. (Karp and Rabin, 1987; the modulus is usual for rolling
/// hashes.)
public struct ResultsDigest: Hashable, Sendable, CustomStringConvertible {
    public static let modulus: UInt64 = (1 << 61) - 1
    public static let base: UInt64 = 0x0c9b_1d3f_5a27_6e85

    /// The sum over rows i of n of `rowHash(i) * base^(n-1-i)`, modulo 2^61 - 1.
    public private(set) var value: UInt64
    /// base^n, needed for concatenation.
    @usableFromInline private(set) var power: UInt64

    /// The digest of no rows.
    public static let empty = ResultsDigest(value: 0, power: 1)

    init(value: UInt64, power: UInt64) {
        self.value = value
        self.power = power
    }

    /// The digest of one row.
    public init(sectionHash: UInt64, object: ObjectID) {
        self.init(value: Self.rowHash(sectionHash: sectionHash, object: object), power: Self.base)
    }

    /// Returns the digest of these rows followed by those of `next`.
    public func combined(with next: ResultsDigest) -> ResultsDigest {
        if next == .empty { return self }
        return ResultsDigest(
            value: Self.add(Self.multiply(self.value, next.power), next.value),
            power: Self.multiply(self.power, next.power)
        )
    }

    public mutating func append(sectionHash: UInt64, object: ObjectID) {
        let row = Self.rowHash(sectionHash: sectionHash, object: object)
        self.value = Self.add(Self.multiply(self.value, Self.base), row)
        self.power = Self.multiply(self.power, Self.base)
    }

    /// Returns the hash of a section's key, which is part of each of its rows' hashes: FNV-1a of the key's byte form.
    public static func sectionHash(_ key: AttributeValue) -> UInt64 {
        var writer = ByteWriter()
        writer.write(value: key)
        return fnv1a(writer.bytes)
    }

    /// Returns a row's number, in 1 ..< 2^61 - 1: the finaliser of SplitMix64 (Steele, Lea, Flood, 2014) over section
    /// hash and id.
    public static func rowHash(sectionHash: UInt64, object: ObjectID) -> UInt64 {
        var z = sectionHash ^ (UInt64(bitPattern: object.rawValue) &* 0x9e37_79b9_7f4a_7c15)
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        z ^= z >> 31
        return z % (Self.modulus - 1) + 1
    }

    static func multiply(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let (high, low) = a.multipliedFullWidth(by: b)
        return Self.add(low & Self.modulus, low >> 61 | high << 3)
    }

    static func add(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let sum = a + b
        let folded = (sum & Self.modulus) + (sum >> 61)
        return folded >= Self.modulus ? folded - Self.modulus : folded
    }

    /// The digest as 16 hexadecimal digits.
    public var description: String { Self.text(self.value) }

    public static func text(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
