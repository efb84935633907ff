import NestProtocol

/// The header of a frame, which states how many bytes follow.
protocol FrameHeader {
    static var byteCount: Int { get }
    /// Decodes exactly `byteCount` bytes.
    init(_ bytes: UnsafeRawBufferPointer)
    var bodyBytes: Int { get }
    /// The number of bytes to keep from the start of the body. The others are only counted.
    var keptBytes: Int { get }
}

/// Splits a stream into frames, whatever the sizes of the reads, and keeps only the bytes that are used.
///
/// It reports a frame when the last byte has arrived.
struct FrameScanner<Header: FrameHeader> {
    /// The header of an incomplete frame, then the kept bytes of its body.
    private var held: [UInt8] = []
    private var header: Header?
    /// The number of bytes of the body that have not arrived.
    private var missing = 0

    /// Calls `onFrame` with the header and the first `keptBytes` of the body of each complete frame.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer,
        _ onFrame: (Header, UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        var offset = 0
        while offset < bytes.count {
            if self.held.isEmpty, bytes.count - offset >= Header.byteCount {
                let header = Header(bytes.part(offset, Header.byteCount))
                let body = offset + Header.byteCount
                if bytes.count - body >= header.bodyBytes {
                    try onFrame(header, bytes.part(body, min(header.keptBytes, header.bodyBytes)))
                    offset = body + header.bodyBytes
                    continue
                }
            }
            offset += self.hold(bytes.part(offset, bytes.count - offset))
            guard let header = self.header, self.missing == 0 else { continue }
            let whole = self.held
            self.held.removeAll(keepingCapacity: true)
            self.header = nil
            try whole.withUnsafeBytes { try onFrame(header, $0.part(Header.byteCount, $0.count - Header.byteCount)) }
        }
    }

    /// Holds bytes of the header or of the body, and returns the number of bytes consumed.
    private mutating func hold(_ bytes: UnsafeRawBufferPointer) -> Int {
        if let header = self.header {
            let count = min(bytes.count, self.missing)
            let kept = self.held.count - Header.byteCount
            self.held.append(contentsOf: bytes.part(0, min(count, max(header.keptBytes - kept, 0))))
            self.missing -= count
            return count
        }
        let count = min(bytes.count, Header.byteCount - self.held.count)
        self.held.append(contentsOf: bytes.part(0, count))
        if self.held.count == Header.byteCount {
            let header = self.held.withUnsafeBytes { Header($0) }
            self.header = header
            self.missing = header.bodyBytes
        }
        return count
    }
}

extension UnsafeRawBufferPointer {
    func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
    }

    func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T {
        T(bigEndian: self.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    var text: String { String(decoding: self, as: UTF8.self) }
}
