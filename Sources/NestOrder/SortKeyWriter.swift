import NestModel

/// Encodes values as bytes that sort in the order of the values, one term of a sort key after the other.
///
/// Null sorts below every value. Each term is prefix-free, so that terms can be concatenated. The bytes of a descending
/// term are inverted one by one. `SortKeyReader` decodes the first term.
///
///     text            each byte of UTF-8 and 1, then 1; null is 0 (values hold no NUL)
///     decimal         `DecimalText.orderKey`, its first byte and 1, then 0; null is 0
///     integer, date   128 and the number of bytes that follow, or 127 less that number for one below zero; then the
///                     lowest bytes of the two's complement; null is 0
///     the same, wide  eight bytes, the sign inverted
///     double          eight bytes, the sign inverted, all bits inverted for one below zero; null is zeros, which
///                     would be a NaN
///     boolean         1 or 2; null is 0
///     data            1, the bytes with 255 after each zero, two zeros; null is 0
///     uuid            1 and its 16 bytes; null is 0
package struct SortKeyWriter {
    private var prefix: UInt64 = 0
    private var count = 0
    /// The bytes after the first eight.
    private var rest: [UInt8] = []
    /// 255 in a descending term.
    private var turn: UInt8 = 0

    package init() {}

    /// Returns the key of the written terms and empties the writer.
    package mutating func take() -> SortKey {
        let key = SortKey(prefix: self.prefix, tail: self.rest.isEmpty ? nil : KeyTail(self.rest[...]))
        self.prefix = 0
        self.count = 0
        self.rest.removeAll(keepingCapacity: true)
        return key
    }

    package mutating func write(_ value: AttributeValue, _ term: OrderTerm) {
        self.turn = term.isAscending ? 0 : 255
        switch (term.form, value) {
        case (.wideInteger, .integer(let number)), (.wideInteger, .date(let number)):
            self.write(wide: UInt64(bitPattern: number) ^ (1 << 63))
        case (.wideInteger, _), (.double, .null): self.write(wide: 0)
        case (.double, .double(let number)): self.write(double: number)
        case (.text, .string(let text)):
            var folded = term.folding.fold(text)
            folded.withUTF8 { self.write(text: $0) }
        case (.decimal, .string(let text)): self.write(decimal: text)
        case (.integer, .integer(let number)), (.integer, .date(let number)): self.write(integer: number)
        case (.boolean, .boolean(let isTrue)): self.write(byte: isTrue ? 2 : 1)
        case (.data, .data(let bytes)): self.write(data: bytes)
        case (.uuid, .uuid(let id)):
            self.write(byte: 1)
            self.write(wide: id.high)
            self.write(wide: id.low)
        case (_, .null): self.write(byte: 0)
        // Attributes contain only values of their type, for which `OrderTerm.Form` is made.
        default: preconditionFailure("a value of the kind \(value.typeName) in an order of the form \(term.form)")
        }
    }

    private mutating func write(byte: UInt8) {
        let byte = byte ^ self.turn
        if self.count < 8 {
            self.prefix |= UInt64(byte) << UInt64(56 - 8 * self.count)
        } else {
            self.rest.append(byte)
        }
        self.count += 1
    }

    private mutating func write(wide number: UInt64) {
        self.write(lowest: 8, of: number)
    }

    private mutating func write(lowest count: UInt8, of number: UInt64) {
        var left = UInt64(count)
        while left > 0 {
            left -= 1
            self.write(byte: UInt8(truncatingIfNeeded: number >> (8 * left)))
        }
    }

    private mutating func write(text bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes { self.write(byte: byte + 1) }
        self.write(byte: 1)
    }

    private mutating func write(double number: Double) {
        let bits = number.bitPattern
        self.write(wide: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    }

    private mutating func write(integer number: Int64) {
        let size = UInt8((71 - (number < 0 ? ~number : number).leadingZeroBitCount) / 8)
        self.write(byte: number < 0 ? 127 - size : 128 + size)
        self.write(lowest: size, of: UInt64(bitPattern: number))
    }

    private mutating func write(decimal text: String) {
        let bytes = DecimalText.orderKey(text)
        self.write(byte: bytes[0] + 1)
        for byte in bytes.dropFirst() { self.write(byte: byte) }
        self.write(byte: 0)
    }

    private mutating func write(data bytes: [UInt8]) {
        self.write(byte: 1)
        for byte in bytes {
            self.write(byte: byte)
            if byte == 0 { self.write(byte: 255) }
        }
        self.write(byte: 0)
        self.write(byte: 0)
    }
}
