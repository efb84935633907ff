import NestModel

/// Decodes the first term of a sort key: the inverse of `SortKeyWriter`.
struct SortKeyReader {
    private let key: SortKey
    private let form: OrderTerm.Form
    private let turn: UInt8
    /// The number of bytes read or skipped.
    private(set) var count = 0

    init(_ key: SortKey, _ term: OrderTerm) {
        self.key = key
        self.form = term.form
        self.turn = term.isAscending ? 0 : 255
    }

    private mutating func next() -> UInt8 {
        defer { self.count += 1 }
        return self.key[byte: self.count] ^ self.turn
    }

    private mutating func number(_ size: Int) -> UInt64 {
        var number: UInt64 = 0
        for _ in 0..<size { number = number << 8 | UInt64(self.next()) }
        return number
    }

    /// Skips the term.
    mutating func skip() {
        switch self.form {
        case .wideInteger, .double: self.count = 8
        case .boolean: self.count = 1
        case .uuid: self.count = self.next() == 0 ? 1 : 17
        case .integer:
            let first = Int(self.next())
            if first > 0 { self.count += first >= 128 ? first - 128 : 127 - first }
        case .text: if self.next() > 1 { while self.next() > 1 {} }
        // `Sectioning.functions` has no functions for these, and `RequestOrder.section` refuses all others.
        case .decimal, .data: preconditionFailure("values of this form have no sections")
        }
    }

    /// Reads the term's value; `isDate`: a number is a date.
    mutating func read(isDate: Bool) -> AttributeValue {
        func whole(_ number: Int64) -> AttributeValue { isDate ? .date(number) : .integer(number) }
        switch self.form {
        case .wideInteger:
            return whole(Int64(bitPattern: self.number(8) ^ (1 << 63)))
        case .integer:
            let first = Int(self.next())
            if first == 0 { return .null }
            let size = first >= 128 ? first - 128 : 127 - first
            let bits = self.number(size)
            let isNegative = first < 128
            let high: UInt64 = isNegative && size < 8 ? UInt64.max << UInt64(8 * size) : 0
            return whole(Int64(bitPattern: bits | high))
        case .double:
            let bits = self.number(8)
            return bits == 0 ? .null : .double(Double(bitPattern: bits >> 63 == 1 ? bits ^ (1 << 63) : ~bits))
        case .boolean:
            let first = self.next()
            return first == 0 ? .null : .boolean(first == 2)
        case .uuid:
            if self.next() == 0 { return .null }
            return .uuid(Identifier128(high: self.number(8), low: self.number(8)))
        case .text:
            return self.text().map { .string($0) } ?? .null
        case .decimal, .data:
            // As in `skip`.
            preconditionFailure("values of this form have no sections")
        }
    }

    private mutating func text() -> String? {
        var byte = self.next()
        if byte == 0 { return nil }
        var bytes: [UInt8] = []
        while byte > 1 {
            bytes.append(byte - 1)
            byte = self.next()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: The first scalar of a text

    /// Skips the first scalar, or the whole term if it is null or empty.
    mutating func skipFirstScalar() {
        let first = self.next()
        if first > 1 { self.count = Self.length(first - 1) }
    }

    /// Reads the first scalar; `nil` for null, empty for the empty text.
    mutating func firstScalar() -> String? {
        let first = self.next()
        if first == 0 { return nil }
        if first == 1 { return "" }
        var bytes = [first - 1]
        for _ in 1..<Self.length(first - 1) { bytes.append(self.next() - 1) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the length of a scalar in UTF-8, by its first byte.
    private static func length(_ first: UInt8) -> Int {
        first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
    }
}

extension SortKey {
    /// The byte at an index; 0 after the end.
    subscript(byte index: Int) -> UInt8 {
        guard index >= 8 else { return UInt8(truncatingIfNeeded: self.prefix >> UInt64(56 - 8 * index)) }
        return self.tail?[byte: index - 8] ?? 0
    }

    /// Returns the first `count` bytes: the least key with this prefix.
    func prefix(_ count: Int) -> SortKey {
        guard count > 8 else {
            let mask: UInt64 = count == 8 ? .max : ~(.max >> UInt64(8 * count))
            return SortKey(prefix: self.prefix & mask, tail: nil)
        }
        let bytes = (8..<count).map { self[byte: $0] }
        return SortKey(prefix: self.prefix, tail: KeyTail(bytes[...]))
    }
}

extension KeyTail {
    fileprivate subscript(byte index: Int) -> UInt8 {
        if index < 8 { return UInt8(truncatingIfNeeded: self.first >> UInt64(56 - 8 * index)) }
        if index < 16 { return UInt8(truncatingIfNeeded: self.second >> UInt64(120 - 8 * index)) }
        return index - 16 < self.rest.count ? self.rest[index - 16] : 0
    }
}
