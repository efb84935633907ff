import Glibc
import NestModel

/// The values of an object's slots in their byte form: an offset for each, then the values, in one buffer.
///
/// This is a row between the request and the store. The store writes its columns into it; the journal and the diffs
/// copy from it; a value is decoded only where one is looked at: in a predicate, a sort key, a rule of the model. The
/// byte form of a value is canonical, so values are equal if their bytes are.
///
/// A row is one allocation. To read a slot takes O(1), to change one moves the bytes after it.
///
/// Frozen and usable from inline, as `ByteWriter` is.
@frozen
@usableFromInline
package struct EncodedValues: Hashable, Sendable {
    /// First `count + 1` offsets in the byte order of the machine: the value of a slot begins at its offset and ends at
    /// the next.
    @usableFromInline var bytes: [UInt8]

    @inlinable
    static var offsetSize: Int { 4 }

    /// Makes a row of `count` slots, whose values `write` writes one after the other. `max`: the most bytes that it
    /// writes for all of them.
    @inlinable
    @inline(__always)
    package init(count: Int, atMost max: Int, _ write: (_ slot: Int, inout SmallBytes) -> Void) {
        let start = Self.offsetSize * (count + 1)
        var writer = ByteWriter()
        writer.write(atMost: start + max) { bytes in
            _ = bytes.reserve(start)
            for slot in 0..<count {
                bytes.set(UInt32(bytes.count), at: Self.offsetSize * slot)
                write(slot, &bytes)
            }
            bytes.set(UInt32(bytes.count), at: Self.offsetSize * count)
        }
        self.bytes = writer.bytes
    }

    package init(_ values: [AttributeValue]) {
        self.init(count: values.count, atMost: values.reduce(0) { $0 + $1.encodedMax }) { slot, bytes in
            bytes.write(value: values[slot])
        }
    }

    // MARK: Reading

    /// The values of a row while it is read. Finding a slot costs two loads.
    @frozen
    @usableFromInline
    package struct Slots {
        @usableFromInline let memory: UnsafeRawBufferPointer
        @usableFromInline package let count: Int

        @inlinable
        @inline(__always)
        init(_ memory: UnsafeRawBufferPointer) {
            self.memory = memory
            self.count = Int(memory.load(as: UInt32.self)) / EncodedValues.offsetSize - 1
        }

        @inlinable
        @inline(__always)
        package subscript(_ slot: Int) -> EncodedValue {
            precondition(slot >= 0 && slot < self.count, "a slot is one of the object's table")
            let (start, end) = (self.offset(slot), self.offset(slot + 1))
            return EncodedValue(UnsafeRawBufferPointer(start: self.memory.baseAddress! + start, count: end - start))
        }

        /// Calls `body` with each value. Costs less than to find each slot.
        @inlinable
        @inline(__always)
        package func forEach(_ body: (_ slot: Int, EncodedValue) -> Void) {
            var start = self.offset(0)
            for slot in 0..<self.count {
                let end = self.offset(slot + 1)
                let first = self.memory.baseAddress! + start
                body(slot, EncodedValue(UnsafeRawBufferPointer(start: first, count: end - start)))
                start = end
            }
        }

        /// All values, one after the other.
        @inlinable
        package var whole: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.memory[self.offset(0)...]) }

        @inlinable
        @inline(__always)
        func offset(_ slot: Int) -> Int {
            Int(self.memory.loadUnaligned(fromByteOffset: EncodedValues.offsetSize * slot, as: UInt32.self))
        }
    }

    @inlinable
    @inline(__always)
    package func withSlots<Result>(_ body: (Slots) -> Result) -> Result {
        self.bytes.withUnsafeBytes { body(Slots($0)) }
    }

    @inlinable
    package var count: Int { self.withSlots { $0.count } }

    @inlinable
    package var indices: Range<Int> { 0..<self.count }

    @inlinable
    package func isNull(_ slot: Int) -> Bool { self.withSlots { $0[slot].isNull } }

    /// The id that the to-one relationship of a slot points to.
    @inlinable
    package func reference(_ slot: Int) -> ObjectID? { self.withSlots { $0[slot].reference } }

    /// Whether a slot has the same value in another row.
    package func isSame(_ slot: Int, as other: EncodedValues) -> Bool {
        self.withSlots { slots in
            other.withSlots { others in
                let (a, b) = (slots[slot].bytes, others[slot].bytes)
                return a.count == b.count && memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0
            }
        }
    }

    /// The bytes of all texts and data.
    package var byteCount: Int {
        self.withSlots { slots in (0..<slots.count).reduce(0) { $0 + slots[$1].byteCount } }
    }

    /// Calls `body` with the references and their slots.
    @inlinable
    package func forEachReference(_ body: (_ slot: Int, ObjectID) -> Void) {
        self.withSlots { slots in
            slots.forEach { slot, value in
                if let id = value.reference { body(slot, id) }
            }
        }
    }

    /// All values, decoded.
    package var decoded: [AttributeValue] { self.indices.map { self[$0] } }

    // MARK: Changing

    /// The value of a slot. To read it decodes it.
    package subscript(_ slot: Int) -> AttributeValue {
        get { self.withSlots { $0[slot].decoded } }
        set {
            var value = ByteWriter()
            value.write(value: newValue)
            self.replace(slot, with: value.bytes)
        }
    }

    private mutating func replace(_ slot: Int, with value: [UInt8]) {
        let (count, start, end) = self.withSlots { slots in
            precondition(slot >= 0 && slot < slots.count, "a slot is one of the object's table")
            return (slots.count, slots.offset(slot), slots.offset(slot + 1))
        }
        self.bytes.replaceSubrange(start..<end, with: value)
        let growth = value.count - (end - start)
        guard growth != 0 else { return }
        self.bytes.withUnsafeMutableBytes { memory in
            for next in slot + 1...count {
                let offset = memory.loadUnaligned(fromByteOffset: Self.offsetSize * next, as: UInt32.self)
                memory.storeBytes(
                    of: UInt32(Int(offset) + growth),
                    toByteOffset: Self.offsetSize * next,
                    as: UInt32.self
                )
            }
        }
    }
}

extension EncodedValues: ExpressibleByArrayLiteral {
    @usableFromInline
    package init(arrayLiteral elements: AttributeValue...) { self.init(elements) }
}
