import Glibc

/// Splits a stream into lines, and the payloads that some lines announce, whatever the sizes of the reads.
struct LineScanner {
    /// The bytes that follow a line.
    struct Payload {
        static let none = Payload(bytes: 0, kept: 0)
        /// The size, including the line end after it.
        var bytes: Int
        /// The number of bytes to keep from the start.
        var kept: Int
    }

    /// The received part of an incomplete line.
    private var line: [UInt8] = []
    private var payload: [UInt8] = []
    private var expected = Payload.none
    /// The number of bytes of the payload that have not arrived.
    private var missing = 0

    /// Calls `onLine` with each line, without its end; it returns the payload that follows. Calls `onPayload` with the
    /// kept bytes of a payload when its last byte has arrived.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer,
        onLine: (UnsafeRawBufferPointer) throws -> Payload,
        onPayload: (UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        var offset = 0
        while offset < bytes.count {
            if self.missing > 0 {
                let count = min(bytes.count - offset, self.missing)
                let kept = min(count, max(self.expected.kept - self.payload.count, 0))
                self.payload.append(contentsOf: bytes.part(offset, kept))
                self.missing -= count
                offset += count
                if self.missing == 0 { try self.finishPayload(onPayload) }
                continue
            }
            let rest = bytes.part(offset, bytes.count - offset)
            guard let end = memchr(rest.baseAddress!, 0x0a, rest.count) else {
                self.line.append(contentsOf: rest)
                return
            }
            let count = UnsafeRawPointer(end) - rest.baseAddress!
            offset += count + 1
            let expected = try self.finishLine(rest.part(0, count), onLine)
            guard expected.bytes > 0 else { continue }
            if bytes.count - offset >= expected.bytes {
                try onPayload(bytes.part(offset, min(expected.kept, expected.bytes)))
                offset += expected.bytes
            } else {
                self.expected = expected
                self.missing = expected.bytes
            }
        }
    }

    private mutating func finishLine(
        _ end: UnsafeRawBufferPointer,
        _ onLine: (UnsafeRawBufferPointer) throws -> Payload
    ) rethrows -> Payload {
        if self.line.isEmpty { return try onLine(Self.withoutReturn(end)) }
        self.line.append(contentsOf: end)
        let whole = self.line
        self.line.removeAll(keepingCapacity: true)
        return try whole.withUnsafeBytes { try onLine(Self.withoutReturn($0)) }
    }

    private mutating func finishPayload(_ onPayload: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        let whole = self.payload
        self.payload.removeAll(keepingCapacity: true)
        try whole.withUnsafeBytes { try onPayload($0) }
    }

    private static func withoutReturn(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        line.last == 0x0d ? line.part(0, line.count - 1) : line
    }
}

extension UnsafeRawBufferPointer {
    /// The decimal number at the end of a line, after the last byte that is not a digit.
    var lastNumber: Int {
        var value = 0
        var factor = 1
        for byte in self.reversed() {
            guard byte >= 0x30, byte <= 0x39 else { break }
            value += Int(byte - 0x30) * factor
            factor *= 10
        }
        return value
    }
}
