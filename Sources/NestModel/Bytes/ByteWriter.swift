/// Encodes values in the byte form that journal, chunks and frames share.
///
/// All integers are big-endian; counts and ids are QUIC variable-length integers (RFC 9000, section 16).
///
/// Frozen and usable from inline: otherwise the compiler inlines nothing of a type with access `package` into other
/// modules, whatever is marked as inlinable.
@frozen
@usableFromInline
package struct ByteWriter: Sendable {
    @usableFromInline package var bytes: [UInt8]

    @inlinable
    package init(capacity: Int = 0) {
        self.bytes = []
        if capacity > 0 { self.bytes.reserveCapacity(capacity) }
    }

    @inlinable
    package var count: Int { self.bytes.count }

    /// Removes the bytes after the first `count`. Keeps their memory.
    @inlinable
    package mutating func truncate(to count: Int) {
        self.bytes.removeLast(self.bytes.count - count)
    }

    @inlinable
    package mutating func write(byte: UInt8) {
        self.bytes.append(byte)
    }

    @inlinable
    package mutating func write(integer value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { self.bytes.append(contentsOf: $0) }
    }

    /// Writes a variable-length integer in its shortest form. Precondition: below 2^62.
    @inlinable
    package mutating func write(varint value: UInt64) {
        if value < 0x40 {
            self.bytes.append(UInt8(truncatingIfNeeded: value))
        } else {
            self.write(atMost: SmallBytes.varintMax) { $0.write(varint: value) }
        }
    }

    /// Writes several small values, for which memory is reserved only once. `max`: the most bytes that `body` writes.
    @inlinable
    @inline(__always)
    package mutating func write(atMost max: Int, _ body: (inout SmallBytes) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: max, alignment: 1) { memory in
            var small = SmallBytes(memory.baseAddress!, capacity: memory.count)
            body(&small)
            self.bytes.append(contentsOf: UnsafeRawBufferPointer(start: memory.baseAddress, count: small.count))
        }
    }

    @inlinable
    package mutating func write(count value: Int) {
        self.write(varint: UInt64(value))
    }

    /// Writes a signed number as a zigzag variable-length integer. Precondition: in -2^61 ..< 2^61.
    @inlinable
    package mutating func write(zigzag value: Int64) {
        self.write(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    @inlinable
    package mutating func write(raw value: some Sequence<UInt8>) {
        self.bytes.append(contentsOf: value)
    }

    @inlinable
    package mutating func write(raw value: UnsafeRawBufferPointer) {
        self.bytes.append(contentsOf: value)
    }

    /// Writes a length, then the bytes.
    @inlinable
    package mutating func write(lengthPrefixed value: [UInt8]) {
        self.write(count: value.count)
        self.bytes.append(contentsOf: value)
    }

    /// Writes a length, then the UTF-8 bytes.
    @inlinable
    package mutating func write(string value: String) {
        var value = value
        value.withUTF8 { utf8 in
            self.write(count: utf8.count)
            self.bytes.append(contentsOf: utf8)
        }
    }

    @inlinable
    package mutating func write(identifier value: Identifier128) {
        self.write(integer: value.high)
        self.write(integer: value.low)
    }

    @inlinable
    package mutating func write(objectID value: ObjectID) {
        self.write(varint: UInt64(bitPattern: value.rawValue))
    }

    @inlinable
    package mutating func write(revision value: Revision) {
        self.write(varint: value.rawValue)
    }
}
