/// A value in its byte form, where this process has written it: in a row.
///
/// Trusts its bytes. `ByteReader` reads the bytes of peers and files. Valid as long as the memory is. O(1), no
/// allocation; only `decoded` makes a `String` or an array.
///
/// Frozen and usable from inline, as `ByteWriter` is.
@frozen
@usableFromInline
package struct EncodedValue {
    /// The whole byte form, at least one byte.
    @usableFromInline package let bytes: UnsafeRawBufferPointer

    /// What the bytes say. Texts and data stay where they are.
    @frozen
    @usableFromInline
    package enum Content {
        case null
        case boolean(Bool)
        case integer(Int64)
        case double(Double)
        case date(Int64)
        case reference(ObjectID)
        case uuid(Identifier128)
        /// UTF-8.
        case text(UnsafeRawBufferPointer)
        case data(UnsafeRawBufferPointer)
    }

    @inlinable
    @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    @inlinable
    package var isNull: Bool { self.tag == ValueTag.null }

    /// The id that a to-one relationship points to.
    @inlinable
    package var reference: ObjectID? {
        guard self.tag == ValueTag.reference else { return nil }
        return ObjectID(Int64(truncatingIfNeeded: self.varint(at: 1).value))
    }

    @inlinable
    var tag: UInt8 { self.bytes.load(as: UInt8.self) }

    @inlinable
    @inline(__always)
    package var content: Content {
        let tag = self.tag
        switch tag {
        case ValueTag.null: return .null
        case ValueTag.no: return .boolean(false)
        case ValueTag.yes: return .boolean(true)
        case ValueTag.integer: return .integer(self.zigzag)
        case ValueTag.integer64: return .integer(Int64(bitPattern: self.word(at: 1)))
        case ValueTag.double: return .double(Double(bitPattern: self.word(at: 1)))
        case ValueTag.date: return .date(self.zigzag)
        case ValueTag.date64: return .date(Int64(bitPattern: self.word(at: 1)))
        case ValueTag.reference: return .reference(ObjectID(Int64(truncatingIfNeeded: self.varint(at: 1).value)))
        case ValueTag.uuid: return .uuid(Identifier128(high: self.word(at: 1), low: self.word(at: 9)))
        case ValueTag.string: return .text(self.rest(from: 1 + self.varint(at: 1).size))
        case ValueTag.data: return .data(self.rest(from: 1 + self.varint(at: 1).size))
        case ValueTag.shortString..<0xc0: return .text(self.rest(from: 1))
        default:
            precondition(tag & 0xc0 == ValueTag.smallInteger, "a value has a known tag")
            return .integer(Int64(tag & 0x3f))
        }
    }

    /// The value itself.
    package var decoded: AttributeValue {
        switch self.content {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .double(let value): .double(value)
        case .date(let value): .date(value)
        case .reference(let id): .reference(id)
        case .uuid(let value): .uuid(value)
        case .text(let utf8): .string(String(decoding: utf8, as: UTF8.self))
        case .data(let bytes): .data([UInt8](bytes))
        }
    }

    /// The bytes of a text or of data; 0 for other values.
    package var byteCount: Int {
        switch self.content {
        case .text(let bytes), .data(let bytes): bytes.count
        default: 0
        }
    }

    @inlinable
    func rest(from start: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.bytes[start...]) }

    @inlinable
    func word(at offset: Int) -> UInt64 {
        precondition(self.bytes.count >= offset + 8, "a value is whole")
        return UInt64(bigEndian: self.bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inlinable
    var zigzag: Int64 {
        let value = self.varint(at: 1).value
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    @inlinable
    @inline(__always)
    func varint(at offset: Int) -> (value: UInt64, size: Int) {
        let size = 1 << Int(self.bytes[offset] >> 6)
        precondition(self.bytes.count >= offset + size, "a value is whole")
        switch size {
        case 1: return (UInt64(self.bytes[offset]), 1)
        case 2:
            let word = UInt16(bigEndian: self.bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            return (UInt64(word & 0x3fff), 2)
        case 4:
            let word = UInt32(bigEndian: self.bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            return (UInt64(word & 0x3fff_ffff), 4)
        default:
            let word = UInt64(bigEndian: self.bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            return (word & 0x3fff_ffff_ffff_ffff, 8)
        }
    }
}
