import NestModel

/// Splits bytes that arrive in pieces into lines. A line ends with LF, CR or CRLF. Drops a byte order mark at the
/// start; refuses UTF-16 and lines over `lineBytesMax`.
struct LineSplitter: Sendable {
    struct Line: Sendable {
        /// Counted from 1.
        var number: Int
        var bytes: [UInt8]

        /// Throws when the bytes are not UTF-8.
        func text() throws(FormatError) -> String {
            if let text = String(validating: self.bytes, as: UTF8.self) { return text }
            let invalid = UTF8Text.firstInvalid(self.bytes) ?? 0
            throw FormatError(at: invalid, in: self.bytes, start: TextLocation(line: self.number), "not valid UTF-8")
        }
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private let lineBytesMax: Int
    private var current: [UInt8] = []
    private var number = 1
    /// Whether the last byte was a CR: an LF that follows belongs to it.
    private var isAfterCarriageReturn = false

    init(lineBytesMax: Int) {
        self.lineBytesMax = lineBytesMax
    }

    /// Returns the lines that the piece completes.
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

    /// Ends the input. Bytes after the last line's end are a line.
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
        self.current.removeFirst(try UTF8Text.markCount(self.current))
    }
}
