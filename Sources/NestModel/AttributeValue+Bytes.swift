/// The first byte of a value's byte form. 0x40-0x7f are the integers 0...63, 0x80-0xbf strings of 0...63 bytes.
public enum ValueTag {
    public static let null: UInt8 = 0x00
    public static let no: UInt8 = 0x01
    public static let yes: UInt8 = 0x02
    /// zigzag varint
    public static let integer: UInt8 = 0x03
    /// 8 bytes, two's complement: what 0x03 cannot hold
    public static let integer64: UInt8 = 0x04
    /// 8 bytes, IEEE 754; NaN is an error
    public static let double: UInt8 = 0x05
    /// length, UTF-8 without NUL
    public static let string: UInt8 = 0x06
    /// length, bytes
    public static let data: UInt8 = 0x07
    /// zigzag varint, microseconds since 1970-01-01 UTC
    public static let date: UInt8 = 0x08
    /// varint object id
    public static let reference: UInt8 = 0x09
    /// 16 bytes
    public static let uuid: UInt8 = 0x0a
    /// 8 bytes, two's complement: what 0x08 cannot hold
    public static let date64: UInt8 = 0x0b
    public static let smallInteger: UInt8 = 0x40
    public static let shortString: UInt8 = 0x80
}

extension ByteWriter {
    /// A value in its shortest form.
    public mutating func write(value: AttributeValue) {
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

    @inlinable
    public mutating func write(integerValue value: Int64) {
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

    @inlinable
    public mutating func write(dateValue value: Int64) {
        if value >= -(1 << 61), value < 1 << 61 {
            self.write(byte: ValueTag.date)
            self.write(zigzag: value)
        } else {
            self.write(byte: ValueTag.date64)
            self.write(integer: value)
        }
    }

    /// A string value from bytes already known to be valid, as a column holds them.
    @inlinable
    public mutating func write(textValue utf8: UnsafeRawBufferPointer) {
        if utf8.count < 64 {
            self.write(byte: ValueTag.shortString | UInt8(truncatingIfNeeded: utf8.count))
        } else {
            self.write(byte: ValueTag.string)
            self.write(count: utf8.count)
        }
        self.write(raw: utf8)
    }
}

extension ByteReader {
    public mutating func value(_ field: StaticString) throws(DecodingFailure) -> AttributeValue {
        let tag = try self.byte(field)
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
        case ValueTag.string:
            return .string(try Self.text(try self.valueBytes(field), field))
        case ValueTag.data:
            return .data([UInt8](try self.valueBytes(field)))
        case ValueTag.date: return .date(try self.zigzag(field))
        case ValueTag.date64: return .date(try self.integer(Int64.self, field))
        case ValueTag.reference: return .reference(try self.objectID(field))
        case ValueTag.uuid: return .uuid(try self.identifier(field))
        case ValueTag.smallInteger..<ValueTag.shortString: return .integer(Int64(tag & 0x3f))
        case ValueTag.shortString..<0xc0:
            return .string(try Self.text(try self.raw(count: Int(tag & 0x3f), field), field))
        default: throw DecodingFailure(.invalidValue, "\(field)")
        }
    }

    /// A length, judged before the bytes, then the bytes.
    private mutating func valueBytes(_ field: StaticString) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        let count = try self.varint(field)
        guard count <= UInt64(Limits.valueBytesMax) else { throw DecodingFailure(.valueTooLarge, "\(field)") }
        return try self.raw(count: Int(count), field)
    }
}
