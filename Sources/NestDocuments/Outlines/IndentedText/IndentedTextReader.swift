import NestModel

/// Reads indented text: one row on each line, with its depth from its indentation.
///
/// - Lines end with LF, CR or CRLF. Skips blank lines and a byte order mark at the start.
/// - Indentation is tabs, spaces or both. A tab goes to the next multiple of the *unit*: the first indentation when
///   that is spaces, otherwise four columns. Depths come from `IndentationStack`: a jump of two levels becomes one.
/// - Everything after the indentation is the title, with bullets, numbers and trailing spaces. `TitleEscape` writes
///   titles that a line cannot hold.
/// - Refuses invalid UTF-8, NUL, and titles over `Limits.valueBytesMax`, with line and column.
package struct IndentedTextReader: OutlineReader {
    private enum LineState {
        /// The first bytes, which may be a byte order mark.
        case start([UInt8])
        case indentation
        case title
    }

    private static let tab = UInt8(ascii: "\t")
    private static let space = UInt8(ascii: " ")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let columnsOfTab = 4
    /// An escaped line is at most twice as long as its title.
    private static let lineBytesMax = 2 * Limits.valueBytesMax + 1

    private var state = LineState.start([])
    private var stack = IndentationStack()
    private var line = 1
    /// Whether the last byte was a CR: an LF that follows belongs to it.
    private var isAfterCarriageReturn = false
    private var indentationBytes = 0
    private var column = 0
    /// Tabs go to multiples of this column; `nil` before the first indentation.
    private var unit: Int?
    private var hasTab = false
    private var title: [UInt8] = []

    package init() {}

    package var warnings: [String] {
        let count = self.stack.unevenCount
        guard count > 0 else { return [] }
        return ["\(count) line\(count == 1 ? " begins" : "s begin") between two levels; moved to the nearest"]
    }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        guard case .start(let first) = self.state else {
            return try self.scan(bytes, into: &rows)
        }
        let bytes = first + bytes
        guard bytes.count >= 3 else {
            self.state = .start(bytes)
            return
        }
        try self.begin(bytes, into: &rows)
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        if case .start(let first) = self.state { try self.begin(first, into: &rows) }
        try self.endLine(into: &rows)
    }

    private mutating func begin(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        self.state = .indentation
        try self.scan(Array(bytes.dropFirst(try UTF8Text.markCount(bytes))), into: &rows)
    }

    private mutating func scan(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == Self.lineFeed || byte == Self.carriageReturn {
                if byte == Self.carriageReturn || !self.isAfterCarriageReturn { try self.endLine(into: &rows) }
                self.isAfterCarriageReturn = byte == Self.carriageReturn
                index += 1
                continue
            }
            self.isAfterCarriageReturn = false
            if case .indentation = self.state, byte == Self.tab || byte == Self.space {
                self.indent(byte)
                index += 1
                continue
            }
            self.state = .title
            var end = index + 1
            while end < bytes.count, bytes[end] != Self.lineFeed, bytes[end] != Self.carriageReturn { end += 1 }
            guard self.title.count + (end - index) <= Self.lineBytesMax else { throw self.tooLong() }
            self.title.append(contentsOf: bytes[index..<end])
            index = end
        }
    }

    private mutating func indent(_ byte: UInt8) {
        self.indentationBytes += 1
        if byte == Self.tab {
            self.hasTab = true
            let unit = self.unit ?? Self.columnsOfTab
            self.column = (self.column / unit + 1) * unit
        } else {
            self.column += 1
        }
    }

    private mutating func endLine(into rows: inout [OutlineRow]) throws(FormatError) {
        if case .title = self.state {
            if self.unit == nil, self.column > 0 { self.unit = self.hasTab ? Self.columnsOfTab : self.column }
            let depth = self.stack.depth(column: self.column)
            guard depth <= Limits.depthMax else {
                throw self.failure(at: 0, "more than \(Limits.depthMax) levels")
            }
            rows.append(OutlineRow(depth: depth, title: try self.titleText()))
            self.title.removeAll(keepingCapacity: true)
        }
        self.state = .indentation
        self.indentationBytes = 0
        self.column = 0
        self.hasTab = false
        self.line += 1
    }

    private func titleText() throws(FormatError) -> String {
        if let nul = self.title.firstIndex(of: 0) { throw self.failure(at: nul, "a NUL character") }
        if let index = UTF8Text.firstInvalid(self.title) { throw self.failure(at: index, "not valid UTF-8") }
        let title = TitleEscape.title(of: self.title)
        guard title.count <= Limits.valueBytesMax else { throw self.tooLong() }
        return String(decoding: title, as: UTF8.self)
    }

    private func tooLong() -> FormatError {
        self.failure(at: 0, "a title of more than \(Limits.valueBytesMax) bytes")
    }

    private func failure(at byte: Int, _ message: String) -> FormatError {
        // Scalars before the byte: every byte that does not continue one begins one.
        let scalars = self.title.prefix(byte).count { $0 & 0xc0 != 0x80 }
        return FormatError(line: self.line, column: self.indentationBytes + scalars + 1, message)
    }
}
