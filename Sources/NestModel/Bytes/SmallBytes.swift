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
    @usableFromInline var count = 0

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

    /// Returns the offset of the next bytes.
    @inlinable
    @inline(__always)
    mutating func reserve(_ byteCount: Int) -> Int {
        let start = self.count
        precondition(start + byteCount <= self.capacity, "values fit into the memory that is reserved for them")
        self.count = start + byteCount
        return start
    }
}
