import NestModel

/// Cuts bytes that come in pieces into lines. Lines end with LF, CR or CRLF; a byte order mark at the start is dropped.
/// UTF-16 and lines over `lineBytesMax` are refused.
struct LineSplitter: Sendable {
    struct Line: Sendable {
        /// Counted from 1.
        var number: Int
        var bytes: [UInt8]

        /// Its text; throws when that is no UTF-8.
        func text() throws(FormatError) -> String {
            if let text = String(validating: self.bytes, as: UTF8.self) { return text }
            let invalid = LineSplitter.firstInvalid(self.bytes) ?? 0
            throw FormatError(at: invalid, in: self.bytes, firstLine: self.number, "not valid UTF-8")
        }
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    private let lineBytesMax: Int
    private var current: [UInt8] = []
    private var number = 1
    /// The last byte was a CR: an LF now belongs to it.
    private var isAfterCarriageReturn = false

    init(lineBytesMax: Int) {
        self.lineBytesMax = lineBytesMax
    }

    /// The lines that the piece completes.
    mutating func read(_ piece: [UInt8]) throws(FormatError) -> [Line] {
        var lines: [Line] = []
        var start = 0
        while start < piece.count {
            if self.isAfterCarriageReturn {
                self.isAfterCarriageReturn = false
                if piece[start] == Self.lineFeed {
                    start += 1
                    continue
                }
            }
            guard let end = piece[start...].firstIndex(where: { $0 == Self.lineFeed || $0 == Self.carriageReturn })
            else {
                try self.append(piece[start...])
                break
            }
            try self.append(piece[start..<end])
            self.isAfterCarriageReturn = piece[end] == Self.carriageReturn
            start = end + 1
            lines.append(try self.end())
        }
        return lines
    }

    /// The input is at its end: what came after the last line's end is a line, if there is any.
    mutating func finish() throws(FormatError) -> [Line] {
        self.current.isEmpty ? [] : [try self.end()]
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(FormatError) {
        guard self.current.count + bytes.count <= self.lineBytesMax else {
            throw FormatError(line: self.number, column: 1, "a line of more than \(self.lineBytesMax) bytes")
        }
        self.current += bytes
    }

    private mutating func end() throws(FormatError) -> Line {
        if self.number == 1 { try self.dropMark() }
        defer {
            self.current.removeAll(keepingCapacity: true)
            self.number += 1
        }
        return Line(number: self.number, bytes: self.current)
    }

    private mutating func dropMark() throws(FormatError) {
        if self.current.starts(with: [0xff, 0xfe]) || self.current.starts(with: [0xfe, 0xff]) {
            throw FormatError(line: 1, column: 1, "the text is UTF-16; convert it to UTF-8 first")
        }
        if self.current.starts(with: Self.byteOrderMark) { self.current.removeFirst(Self.byteOrderMark.count) }
    }

    /// The first byte that is not UTF-8.
    static func firstInvalid(_ bytes: [UInt8]) -> Int? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var count = 0
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { count += UTF8.width(scalar) }
        return count
    }
}
