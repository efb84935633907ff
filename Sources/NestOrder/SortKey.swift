import NestModel

/// The position of a row in a result's order, as bytes that compare in that order. The keys of a result are
/// prefix-free: none is a prefix of another.
///
/// The first eight bytes are stored as a number, padded with zeros; further bytes are in a tail. Most keys are numbers
/// and have none, so comparing them follows no pointer.
package struct SortKey: Hashable, Comparable, Sendable {
    package let prefix: UInt64
    package let tail: KeyTail?

    package init(prefix: UInt64, tail: KeyTail?) {
        self.prefix = prefix
        self.tail = tail
    }

    /// The estimated memory of the tail, in bytes.
    package var tailBytes: Int { self.tail?.byteCount ?? 0 }

    /// The key in an order by ids alone.
    package static let none = SortKey(prefix: 0, tail: nil)

    /// Makes the key of a number that is never null: a sparse position.
    package init(position: Int64) {
        self.init(prefix: UInt64(bitPattern: position) ^ (1 << 63), tail: nil)
    }

    package static func < (a: SortKey, b: SortKey) -> Bool {
        a.prefix != b.prefix ? a.prefix < b.prefix : KeyTail.compare(a.tail, b.tail) < 0
    }

    package static func == (a: SortKey, b: SortKey) -> Bool {
        a.prefix == b.prefix && KeyTail.compare(a.tail, b.tail) == 0
    }
}

/// A key of a result's order: the sort key and the object id, which makes the order total.
package struct RowKey: Hashable, Comparable, Sendable {
    package var sort: SortKey
    package var id: ObjectID

    package init(_ sort: SortKey, id: ObjectID) {
        self.sort = sort
        self.id = id
    }

    package init(position: Int64, id: ObjectID) {
        self.init(SortKey(position: position), id: id)
    }

    package static func < (a: RowKey, b: RowKey) -> Bool {
        if a.sort.prefix != b.sort.prefix { return a.sort.prefix < b.sort.prefix }
        let order = KeyTail.compare(a.sort.tail, b.sort.tail)
        return order != 0 ? order < 0 : a.id < b.id
    }
}

/// The bytes of a key after the eighth: sixteen more as two numbers, so that a short text takes one small object; then
/// the rest.
package final class KeyTail: Hashable, Sendable {
    let first: UInt64
    let second: UInt64
    let rest: [UInt8]

    init(_ bytes: ArraySlice<UInt8>) {
        self.first = Self.number(bytes.prefix(8))
        self.second = Self.number(bytes.dropFirst(8).prefix(8))
        self.rest = Array(bytes.dropFirst(16))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var number: UInt64 = 0
        for byte in bytes { number = number << 8 | UInt64(byte) }
        return bytes.isEmpty ? 0 : number << UInt64(8 * (8 - bytes.count))
    }

    /// Returns a number below 0, 0, or above 0 if the first is below, equal to or above the second.
    package static func compare(_ a: KeyTail?, _ b: KeyTail?) -> Int {
        guard let a, let b, a !== b else { return a === b ? 0 : (a == nil ? -1 : 1) }
        if a.first != b.first { return a.first < b.first ? -1 : 1 }
        if a.second != b.second { return a.second < b.second ? -1 : 1 }
        return Self.compare(a.rest, b.rest)
    }

    private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        let count = min(a.count, b.count)
        for index in 0..<count where a[index] != b[index] { return a[index] < b[index] ? -1 : 1 }
        return a.count - b.count
    }

    package static func == (a: KeyTail, b: KeyTail) -> Bool { self.compare(a, b) == 0 }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.first)
        hasher.combine(self.second)
        hasher.combine(self.rest)
    }

    /// The estimated memory, in bytes.
    package var byteCount: Int { 48 + (self.rest.isEmpty ? 0 : 48 + self.rest.count) }
}
