/// The identity of an object: a positive 64-bit number below 2^53. The server assigns it; it is unique in the store
/// over all entities and never reused. Undoing a delete restores the same id.
public struct ObjectID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: Int64

    @inlinable
    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    @inlinable
    public static func < (a: ObjectID, b: ObjectID) -> Bool {
        a.rawValue < b.rawValue
    }

    public var description: String { String(self.rawValue) }
}

/// An object in a request: an existing object by its id, or the object that the k-th insert or find-or-create of the
/// same transaction inserts or finds.
///
/// On the wire both are one signed number: a positive number is an id, `-k` is the k-th of those steps (counted from
/// 1).
public struct ObjectReference: Hashable, Sendable {
    public let rawValue: Int64

    @inlinable
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public static func object(_ id: ObjectID) -> ObjectReference { ObjectReference(rawValue: id.rawValue) }

    /// The object of the `number`-th insert or find-or-create of the same transaction, counted from 1.
    public static func inserted(_ number: Int) -> ObjectReference { ObjectReference(rawValue: -Int64(number)) }
}

/// The number of committed transactions of a store, the only clock that clients see. A new store is at revision 0.
public struct Revision: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    @inlinable
    public init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// As the least revision of a read: every write that was acknowledged before the read began. The largest revision
    /// of the wire, which no store reaches.
    public static let newest = Revision((1 << 62) - 1)

    @inlinable
    public static func < (a: Revision, b: Revision) -> Bool {
        a.rawValue < b.rawValue
    }

    @inlinable
    public var next: Revision { Revision(self.rawValue + 1) }

    public var description: String { String(self.rawValue) }
}

/// 128 bits: a history id, a session id, an idempotency key, or a `uuid` attribute.
public struct Identifier128: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    public static func < (a: Identifier128, b: Identifier128) -> Bool {
        (a.high, a.low) < (b.high, b.low)
    }

    /// Makes a random identifier. The caller owns the generator, so a seeded run is reproducible.
    public static func random(using generator: inout some RandomNumberGenerator) -> Identifier128 {
        Identifier128(high: generator.next(), low: generator.next())
    }

    /// The identifier as 32 lower-case hexadecimal digits.
    public var hex: String { Self.digits(self.high) + Self.digits(self.low) }

    /// The identifier in the usual 8-4-4-4-12 form of a UUID, lower case.
    public var uuidString: String {
        let digits = Array(self.hex)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    /// Reads 32 hexadecimal digits, with or without dashes. Returns `nil` for any other text.
    public init?(hex: String) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var count = 0
        for character in hex.utf8 where character != UInt8(ascii: "-") {
            guard count < 32, let digit = hexDigit(character) else { return nil }
            if count < 16 {
                high = high << 4 | UInt64(digit)
            } else {
                low = low << 4 | UInt64(digit)
            }
            count += 1
        }
        guard count == 32 else { return nil }
        self.init(high: high, low: low)
    }

    public var description: String { self.hex }

    private static func digits(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}

func hexDigit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
}
