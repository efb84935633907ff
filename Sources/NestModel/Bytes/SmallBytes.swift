/// Encodes values as `ByteWriter` does, into memory that it has reserved for several of them. Only for use inside
/// `ByteWriter.write(atMost:)`.
///
/// Everything is inlined: a call for a byte would cost several times as much as the byte.
@frozen
@usableFromInline
package struct SmallBytes {
    /// The most bytes of a variable-length integer.
    @inlinable
    package static var varintMax: Int { 8 }

    @usableFromInline let memory: UnsafeMutableRawPointer
    @usableFromInline let capacity: Int
    @usableFromInline package internal(set) var count = 0

    @inlinable
    @inline(__always)
    init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
        self.memory = memory
        self.capacity = capacity
    }

    @inlinable
    @inline(__always)
    package mutating func write(byte value: UInt8) {
        let start = self.reserve(1)
        self.memory.storeBytes(of: value, toByteOffset: start, as: UInt8.self)
    }

    @inlinable
    @inline(__always)
    package mutating func write(integer value: UInt64) {
        let start = self.reserve(8)
        self.memory.storeBytes(of: value.bigEndian, toByteOffset: start, as: UInt64.self)
    }

    @inlinable
    @inline(__always)
    package mutating func write(integer value: Int64) { self.write(integer: UInt64(bitPattern: value)) }

    @inlinable
    @inline(__always)
    package mutating func write(varint value: UInt64) {
        if value < 0x40 {
            self.write(byte: UInt8(truncatingIfNeeded: value))
        } else if value < 0x4000 {
            let start = self.reserve(2)
            let word = UInt16(truncatingIfNeeded: value) | 0x4000
            self.memory.storeBytes(of: word.bigEndian, toByteOffset: start, as: UInt16.self)
        } else if value < 0x4000_0000 {
            let start = self.reserve(4)
            let word = UInt32(truncatingIfNeeded: value) | 0x8000_0000
            self.memory.storeBytes(of: word.bigEndian, toByteOffset: start, as: UInt32.self)
        } else {
            // Numbers from peers are below 2^62, ids below 2^53; nest's own counts and sizes stay far below.
            precondition(value < 1 << 62, "a variable-length integer is below 2^62")
            self.write(integer: value | 0xc000_0000_0000_0000)
        }
    }

    @inlinable
    @inline(__always)
    package mutating func write(count value: Int) { self.write(varint: UInt64(value)) }

    @inlinable
    @inline(__always)
    package mutating func write(objectID value: ObjectID) { self.write(varint: UInt64(bitPattern: value.rawValue)) }

    @inlinable
    @inline(__always)
    package mutating func write(revision value: Revision) { self.write(varint: value.rawValue) }

    @inlinable
    @inline(__always)
    package mutating func write(raw bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.baseAddress, bytes.count > 0 else { return }
        let start = self.reserve(bytes.count)
        (self.memory + start).copyMemory(from: first, byteCount: bytes.count)
    }

    /// Writes a value as `ByteWriter.write(value:)` does, at most `AttributeValue.encodedMax` bytes.
    /// `EncodedValuesTests` compares the two.
    package mutating func write(value: AttributeValue) {
        switch value {
        case .null: self.write(byte: ValueTag.null)
        case .boolean(let value): self.write(byte: value ? ValueTag.yes : ValueTag.no)
        case .integer(let value):
            if value >= 0, value < 64 {
                self.write(byte: ValueTag.smallInteger | UInt8(truncatingIfNeeded: value))
            } else {
                self.write(signed: value, ValueTag.integer, long: ValueTag.integer64)
            }
        case .date(let value): self.write(signed: value, ValueTag.date, long: ValueTag.date64)
        case .double(let value):
            self.write(byte: ValueTag.double)
            self.write(integer: value.bitPattern)
        case .uuid(let value):
            self.write(byte: ValueTag.uuid)
            self.write(integer: value.high)
            self.write(integer: value.low)
        case .reference(let id):
            self.write(byte: ValueTag.reference)
            self.write(objectID: id)
        case .string(var text):
            text.withUTF8 { self.write(textValue: UnsafeRawBufferPointer($0)) }
        case .data(let data): data.withUnsafeBytes { self.write(dataValue: $0) }
        }
    }

    /// Writes a string value from bytes already known to be valid.
    package mutating func write(textValue utf8: UnsafeRawBufferPointer) {
        if utf8.count < 64 {
            self.write(byte: ValueTag.shortString | UInt8(truncatingIfNeeded: utf8.count))
        } else {
            self.write(byte: ValueTag.string)
            self.write(count: utf8.count)
        }
        self.write(raw: utf8)
    }

    package mutating func write(dataValue data: UnsafeRawBufferPointer) {
        self.write(byte: ValueTag.data)
        self.write(count: data.count)
        self.write(raw: data)
    }

    /// Writes a number as a zigzag variable-length integer, or whole if it is too long for that.
    private mutating func write(signed value: Int64, _ tag: UInt8, long: UInt8) {
        if value >= -(1 << 61), value < 1 << 61 {
            self.write(byte: tag)
            self.write(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
        } else {
            self.write(byte: long)
            self.write(integer: value)
        }
    }

    /// Writes a number of a table inside the process, in the byte order of the machine, over bytes that are written.
    @inlinable
    @inline(__always)
    package mutating func set(_ number: UInt32, at offset: Int) {
        precondition(offset >= 0 && offset + 4 <= self.count, "a number replaces bytes that are written")
        self.memory.storeBytes(of: number, toByteOffset: offset, as: UInt32.self)
    }

    /// Returns the offset of the next bytes.
    @inlinable
    @inline(__always)
    package mutating func reserve(_ byteCount: Int) -> Int {
        let start = self.count
        precondition(start + byteCount <= self.capacity, "values fit into the memory that is reserved for them")
        self.count = start + byteCount
        return start
    }
}
