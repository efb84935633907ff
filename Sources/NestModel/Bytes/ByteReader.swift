/// Why bytes could not be decoded.
@frozen
@usableFromInline
package struct DecodingFailure: Error, Equatable, Sendable, CustomStringConvertible {
    @frozen
    @usableFromInline
    package enum Reason: String, Sendable {
        case truncated, trailingBytes, outOfRange, invalidText, invalidValue, valueTooLarge, unsupported, limit
    }

    @usableFromInline package let reason: Reason
    /// The field that could not be read.
    @usableFromInline package let field: String
    /// The limit of `field`, if its number is known.
    @usableFromInline package let max: Int?

    @usableFromInline
    package init(_ reason: Reason, _ field: String, max: Int? = nil) {
        self.reason = reason
        self.field = field
        self.max = max
    }

    @usableFromInline
    package var description: String {
        switch self.reason {
        case .truncated: "\(self.field): the message ends too early"
        case .trailingBytes: "\(self.field): bytes after the end"
        case .outOfRange: "\(self.field): the number is out of range"
        case .invalidText: "\(self.field): not valid UTF-8 without NUL"
        case .invalidValue: "\(self.field): not a valid value"
        case .valueTooLarge: "\(self.field): more than \(Limits.valueBytesMax) bytes"
        case .unsupported: "\(self.field): not supported"
        case .limit: self.max.map { "\(self.field): at most \($0) are allowed" } ?? "\(self.field): over its limit"
        }
    }

    package var code: ErrorCode {
        switch self.reason {
        case .truncated, .trailingBytes, .outOfRange, .invalidValue: .malformed
        case .invalidText: .invalidText
        case .valueTooLarge: .valueTooLarge
        case .unsupported: .unsupported
        case .limit: .limitExceeded
        }
    }
}

/// Decodes bytes from a peer; never traps, whatever the bytes are.
///
/// The reader borrows its bytes and must not outlive the closure that provides them. It checks every read against the
/// end, and every count against the remaining bytes, so that a peer cannot make it allocate more than the peer sends.
///
/// Frozen and usable from inline, as `ByteWriter` is.
@frozen
@usableFromInline
package struct ByteReader {
    @usableFromInline var current: UnsafeRawPointer
    @usableFromInline let end: UnsafeRawPointer

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address. Any address will do, since nothing is read from it.
        self.current = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
        self.end = self.current + bytes.count
    }

    /// Not inlined, so that reads stay small.
    @usableFromInline
    @inline(never)
    static func failure(
        _ reason: DecodingFailure.Reason,
        _ field: StaticString,
        max: Int? = nil
    ) -> DecodingFailure {
        DecodingFailure(reason, "\(field)", max: max)
    }

    /// Reads from an array during `body`.
    @inlinable
    package static func read<Result, Failure: Error>(
        _ bytes: [UInt8],
        _ body: (inout ByteReader) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outcome = bytes.withUnsafeBytes { buffer -> Swift.Result<Result, Failure> in
            var reader = ByteReader(buffer)
            do throws(Failure) {
                return .success(try body(&reader))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    @inlinable
    package var remaining: Int { self.end - self.current }

    @inlinable
    package var isAtEnd: Bool { self.current == self.end }

    @inlinable
    package mutating func byte(_ field: StaticString) throws(DecodingFailure) -> UInt8 {
        guard self.current < self.end else { throw Self.failure(.truncated, field) }
        defer { self.current += 1 }
        return self.current.load(as: UInt8.self)
    }

    @inlinable
    package mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(
        _ type: T.Type,
        _ field: StaticString
    ) throws(DecodingFailure) -> T {
        let size = MemoryLayout<T>.size
        guard self.remaining >= size else { throw Self.failure(.truncated, field) }
        defer { self.current += size }
        return T(bigEndian: self.current.loadUnaligned(as: T.self))
    }

    /// Reads a variable-length integer: 0 ..< 2^62, in any of its four lengths.
    @inlinable
    package mutating func varint(_ field: StaticString) throws(DecodingFailure) -> UInt64 {
        guard self.current < self.end else { throw Self.failure(.truncated, field) }
        let first = self.current.load(as: UInt8.self)
        switch first >> 6 {
        case 0:
            self.current += 1
            return UInt64(first)
        case 1:
            return UInt64(try self.integer(UInt16.self, field) & 0x3fff)
        case 2:
            return UInt64(try self.integer(UInt32.self, field) & 0x3fff_ffff)
        default:
            return try self.integer(UInt64.self, field) & 0x3fff_ffff_ffff_ffff
        }
    }

    @inlinable
    package mutating func zigzag(_ field: StaticString) throws(DecodingFailure) -> Int64 {
        let value = try self.varint(field)
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// Reads the number of elements that each take at least `bytesEach` bytes. Refuses a number for which the remaining
    /// bytes are too few.
    @inlinable
    package mutating func count(
        _ field: StaticString,
        max: Int = Int.max,
        bytesEach: Int = 1
    ) throws(DecodingFailure) -> Int {
        let value = try self.varint(field)
        guard value <= UInt64(max) else { throw Self.failure(.limit, field, max: max) }
        guard bytesEach == 0 || value <= UInt64(self.remaining / bytesEach) else {
            throw Self.failure(.truncated, field)
        }
        return Int(value)
    }

    /// Reads an index or size that is only compared, never used for an allocation.
    @inlinable
    package mutating func index(_ field: StaticString) throws(DecodingFailure) -> Int {
        Int(try self.varint(field))
    }

    @inlinable
    package mutating func raw(count: Int, _ field: StaticString) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        guard count >= 0, self.remaining >= count else { throw Self.failure(.truncated, field) }
        defer { self.current += count }
        return UnsafeRawBufferPointer(start: self.current, count: count)
    }

    package mutating func lengthPrefixed(
        _ field: StaticString,
        max: Int = Int.max
    ) throws(DecodingFailure) -> [UInt8] {
        let count = try self.count(field, max: max)
        return [UInt8](try self.raw(count: count, field))
    }

    package mutating func string(_ field: StaticString, max: Int) throws(DecodingFailure) -> String {
        let count = try self.count(field, max: max)
        return try Self.text(try self.raw(count: count, field), field)
    }

    package mutating func identifier(_ field: StaticString) throws(DecodingFailure) -> Identifier128 {
        Identifier128(high: try self.integer(UInt64.self, field), low: try self.integer(UInt64.self, field))
    }

    @inlinable
    package mutating func objectID(_ field: StaticString) throws(DecodingFailure) -> ObjectID {
        let value = try self.varint(field)
        guard value > 0, value <= UInt64(Limits.objectIDMax) else { throw Self.failure(.outOfRange, field) }
        return ObjectID(Int64(value))
    }

    package mutating func reference(_ field: StaticString) throws(DecodingFailure) -> ObjectReference {
        let value = try self.zigzag(field)
        guard value != 0, value <= Limits.objectIDMax, value >= -Int64(Limits.mutationsPerTransactionMax) else {
            throw Self.failure(.outOfRange, field)
        }
        return ObjectReference(rawValue: value)
    }

    /// Reads a reference; `nil` is 0 on the wire.
    package mutating func referenceOrNone(_ field: StaticString) throws(DecodingFailure) -> ObjectReference? {
        let value = try self.zigzag(field)
        guard value <= Limits.objectIDMax, value >= -Int64(Limits.mutationsPerTransactionMax) else {
            throw Self.failure(.outOfRange, field)
        }
        return value == 0 ? nil : ObjectReference(rawValue: value)
    }

    @inlinable
    package mutating func revision(_ field: StaticString) throws(DecodingFailure) -> Revision {
        Revision(try self.varint(field))
    }

    package mutating func finish(_ field: StaticString) throws(DecodingFailure) {
        guard self.isAtEnd else { throw Self.failure(.trailingBytes, field) }
    }

    /// Returns the text of valid UTF-8 without NUL; throws otherwise, and never repairs.
    static func text(
        _ bytes: UnsafeRawBufferPointer,
        _ field: StaticString
    ) throws(DecodingFailure) -> String {
        guard Self.isText(bytes) else { throw Self.failure(.invalidText, field) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether bytes are valid UTF-8 without NUL.
    package static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Most texts. The general way looks up types of the standard library for each text.
        self.isPlainASCII(bytes) || String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0)
    }

    /// Whether all bytes are in 1 ... 127.
    private static func isPlainASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // The high bit of a byte is set if it is above 127, or if subtracting 1 has borrowed, as it does from 0.
            guard (word | (word &- 0x0101_0101_0101_0101)) & 0x8080_8080_8080_8080 == 0 else { return false }
            index += 8
        }
        while index < bytes.count {
            guard (1...127).contains(bytes[index]) else { return false }
            index += 1
        }
        return true
    }
}
