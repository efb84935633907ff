/// The first byte of a value's byte form. 0x40-0x7f are the integers 0...63, 0x80-0xbf strings of 0...63 bytes.
@frozen
@usableFromInline
package enum ValueTag {
    @inlinable package static var null: UInt8 { 0x00 }
    @inlinable package static var no: UInt8 { 0x01 }
    @inlinable package static var yes: UInt8 { 0x02 }
    /// zigzag varint
    @inlinable package static var integer: UInt8 { 0x03 }
    /// 8 bytes, two's complement: integers that 0x03 cannot hold
    @inlinable package static var integer64: UInt8 { 0x04 }
    /// 8 bytes, IEEE 754; NaN is an error
    @inlinable package static var double: UInt8 { 0x05 }
    /// length, UTF-8 without NUL
    @inlinable package static var string: UInt8 { 0x06 }
    /// length, bytes
    @inlinable package static var data: UInt8 { 0x07 }
    /// zigzag varint, microseconds since 1970-01-01 UTC
    @inlinable package static var date: UInt8 { 0x08 }
    /// varint object id
    @inlinable package static var reference: UInt8 { 0x09 }
    /// 16 bytes
    @inlinable package static var uuid: UInt8 { 0x0a }
    /// 8 bytes, two's complement: dates that 0x08 cannot hold
    @inlinable package static var date64: UInt8 { 0x0b }
    @inlinable package static var smallInteger: UInt8 { 0x40 }
    @inlinable package static var shortString: UInt8 { 0x80 }
}

extension ByteWriter {
    /// Writes a value in its shortest form.
    package mutating func write(value: AttributeValue) {
        switch value {
        case .null:
            self.write(byte: ValueTag.null)
        case .boolean(let value):
            self.write(byte: value ? ValueTag.yes : ValueTag.no)
        case .integer(let value):
            self.write(integerValue: value)
        case .double(let value):
            self.write(byte: ValueTag.double)
            self.write(integer: value.bitPattern)
        case .string(var value):
            value.withUTF8 { self.write(textValue: UnsafeRawBufferPointer($0)) }
        case .date(let value):
            self.write(dateValue: value)
        case .data(let value):
            self.write(byte: ValueTag.data)
            self.write(lengthPrefixed: value)
        case .uuid(let value):
            self.write(byte: ValueTag.uuid)
            self.write(identifier: value)
        case .reference(let value):
            self.write(byte: ValueTag.reference)
            self.write(objectID: value)
        }
    }

    package mutating func write(integerValue value: Int64) {
        if value >= 0, value < 64 {
            self.write(byte: ValueTag.smallInteger | UInt8(truncatingIfNeeded: value))
        } else if value >= -(1 << 61), value < 1 << 61 {
            self.write(byte: ValueTag.integer)
            self.write(zigzag: value)
        } else {
            self.write(byte: ValueTag.integer64)
            self.write(integer: value)
        }
    }

    package mutating func write(dateValue value: Int64) {
        if value >= -(1 << 61), value < 1 << 61 {
            self.write(byte: ValueTag.date)
            self.write(zigzag: value)
        } else {
            self.write(byte: ValueTag.date64)
            self.write(integer: value)
        }
    }

    /// Writes a string value from bytes already known to be valid, as a column holds them.
    package mutating func write(textValue utf8: UnsafeRawBufferPointer) {
        self.write(textHead: utf8.count)
        self.write(raw: utf8)
    }

    /// Writes the tag and length of a string, without its bytes.
    package mutating func write(textHead byteCount: Int) {
        if byteCount < 64 {
            self.write(byte: ValueTag.shortString | UInt8(truncatingIfNeeded: byteCount))
        } else {
            self.write(byte: ValueTag.string)
            self.write(count: byteCount)
        }
    }
}

extension AttributeValue {
    /// The most bytes that its byte form takes.
    package var encodedMax: Int {
        switch self {
        case .string(let text): 1 + SmallBytes.varintMax + text.utf8.count
        case .data(let bytes): 1 + SmallBytes.varintMax + bytes.count
        default: Self.encodedNumberMax
        }
    }

    /// The most bytes that a value takes that is neither text nor data.
    package static var encodedNumberMax: Int { 17 }
}

/// A decoded value, or the length of a string or data value whose bytes follow.
package enum ValueHead {
    case whole(AttributeValue)
    case string(byteCount: Int)
    case data(byteCount: Int)

    /// The number of bytes that follow.
    package var byteCount: Int {
        switch self {
        case .whole: 0
        case .string(let byteCount), .data(let byteCount): byteCount
        }
    }
}

extension ByteReader {
    package mutating func value(_ field: StaticString) throws(DecodingFailure) -> AttributeValue {
        try self.value(of: self.valueHead(field), field)
    }

    /// Reads the rest of a value whose head has been read.
    @inline(__always)
    package mutating func value(of head: ValueHead, _ field: StaticString) throws(DecodingFailure) -> AttributeValue {
        switch head {
        case .whole(let value): value
        case .string(let byteCount): .string(try Self.text(try self.raw(count: byteCount, field), field))
        case .data(let byteCount): .data([UInt8](try self.raw(count: byteCount, field)))
        }
    }

    @inline(__always)
    package mutating func valueHead(_ field: StaticString) throws(DecodingFailure) -> ValueHead {
        let tag = try self.byte(field)
        switch tag {
        case ValueTag.string: return .string(byteCount: try self.byteCount(field))
        case ValueTag.data: return .data(byteCount: try self.byteCount(field))
        case ValueTag.shortString..<0xc0: return .string(byteCount: Int(tag & 0x3f))
        default: return .whole(try self.fixedValue(tag, field))
        }
    }

    private mutating func fixedValue(_ tag: UInt8, _ field: StaticString) throws(DecodingFailure) -> AttributeValue {
        switch tag {
        case ValueTag.null: return .null
        case ValueTag.no: return .boolean(false)
        case ValueTag.yes: return .boolean(true)
        case ValueTag.integer: return .integer(try self.zigzag(field))
        case ValueTag.integer64: return .integer(try self.integer(Int64.self, field))
        case ValueTag.double:
            let value = Double(bitPattern: try self.integer(UInt64.self, field))
            guard !value.isNaN else { throw DecodingFailure(.invalidValue, "\(field)") }
            return .double(value)
        case ValueTag.date: return .date(try self.zigzag(field))
        case ValueTag.date64: return .date(try self.integer(Int64.self, field))
        case ValueTag.reference: return .reference(try self.objectID(field))
        case ValueTag.uuid: return .uuid(try self.identifier(field))
        case ValueTag.smallInteger..<ValueTag.shortString: return .integer(Int64(tag & 0x3f))
        default: throw DecodingFailure(.invalidValue, "\(field)")
        }
    }

    /// Reads a length and checks it, before the bytes are read.
    private mutating func byteCount(_ field: StaticString) throws(DecodingFailure) -> Int {
        let count = try self.varint(field)
        guard count <= UInt64(Limits.valueBytesMax) else { throw DecodingFailure(.valueTooLarge, "\(field)") }
        return Int(count)
    }
}
