import NestModel

/// Cuts a table into records and cells (RFC 4180): cells may be in quotes, and then hold delimiters, line ends, and
/// quotes written twice. Records end with LF, CR or CRLF; blank lines are left out; a byte order mark is dropped.
struct TableScanner: Sendable {
    struct Cell: Sendable {
        var text: String
        /// It stood in quotes: an empty one is a text and not nothing.
        var isQuoted: Bool
        /// Where it begins.
        var position: TextPosition
    }

    private enum State: Sendable {
        case cellStart
        case plain
        case quoted
        /// After a quote within quotes: it ends the cell, or is the first of two.
        case quoteInQuotes
    }

    private static let quote = UInt8(ascii: "\"")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let cellBytesMax = 8 * Limits.valueBytesMax
    private static let cellsMax = 1_000

    private let dialect: TableDialect
    /// `nil` until the first line is there.
    private var delimiter: UInt8?
    private var first: [UInt8] = []
    private var state = State.cellStart
    private var position = TextPosition()
    private var cellPosition = TextPosition()
    private var isQuoted = false
    private var isAfterCarriageReturn = false
    private var cell: [UInt8] = []
    private var cells: [Cell] = []

    init(_ dialect: TableDialect) {
        self.dialect = dialect
    }

    /// The records that the piece completes.
    mutating func read(_ piece: [UInt8]) throws(FormatError) -> [[Cell]] {
        guard self.delimiter == nil else { return try self.scan(piece[...]) }
        self.first += piece
        guard self.first.count >= 3, let end = self.first.firstIndex(where: Self.isLineEnd) else {
            guard self.first.count <= Self.cellBytesMax else {
                throw FormatError(line: 1, column: 1, "a first line of more than \(Self.cellBytesMax) bytes")
            }
            return []
        }
        return try self.begin(firstLine: self.first[..<end])
    }

    mutating func finish() throws(FormatError) -> [[Cell]] {
        var records = self.delimiter == nil ? try self.begin(firstLine: self.first[...]) : []
        if case .quoted = self.state { throw self.cellPosition.failure("a cell whose closing quote is missing") }
        if let record = try self.endRecord() { records.append(record) }
        return records
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == Self.lineFeed || byte == Self.carriageReturn }

    private mutating func begin(firstLine: ArraySlice<UInt8>) throws(FormatError) -> [[Cell]] {
        if self.first.starts(with: [0xff, 0xfe]) || self.first.starts(with: [0xfe, 0xff]) {
            throw FormatError(line: 1, column: 1, "the text is UTF-16; convert it to UTF-8 first")
        }
        self.delimiter = self.dialect.delimiter(of: firstLine)
        let hasMark = self.first.starts(with: [0xef, 0xbb, 0xbf])
        defer { self.first = [] }
        return try self.scan(self.first.dropFirst(hasMark ? 3 : 0))
    }

    private mutating func scan(_ bytes: ArraySlice<UInt8>) throws(FormatError) -> [[Cell]] {
        var records: [[Cell]] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let run = self.run(bytes[index...])
            if !run.isEmpty {
                try self.append(run)
                self.position.advance(over: run)
                index = run.endIndex
                continue
            }
            let byte = bytes[index]
            if self.isAfterCarriageReturn {
                self.isAfterCarriageReturn = false
                if byte == Self.lineFeed {
                    // A CR counts as no line end of its own; the LF behind it, or what follows, does.
                    self.position.advance(over: byte)
                    self.cellPosition = self.position
                    index += 1
                    continue
                }
                self.position.advance(over: Self.lineFeed)
                self.cellPosition = self.position
            }
            if let record = try self.take(byte) { records.append(record) }
            if !self.isAfterCarriageReturn { self.position.advance(over: byte) }
            if case .cellStart = self.state { self.cellPosition = self.position }
            index += 1
        }
        return records
    }

    /// Bytes within a cell that mean only themselves.
    private func run(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        switch self.state {
        case .quoted: bytes.prefix { $0 != Self.quote }
        case .plain:
            bytes.prefix { $0 != self.delimiter && $0 != Self.lineFeed && $0 != Self.carriageReturn }
        case .cellStart, .quoteInQuotes: []
        }
    }

    /// Takes a byte; returns the record that it ends.
    private mutating func take(_ byte: UInt8) throws(FormatError) -> [Cell]? {
        switch self.state {
        case .quoted:
            // All others are taken as a run.
            self.state = .quoteInQuotes
            return nil
        case .quoteInQuotes where byte == Self.quote:
            self.state = .quoted
            try self.append([byte])
            return nil
        case .cellStart where byte == Self.quote:
            self.state = .quoted
            self.isQuoted = true
            return nil
        default: break
        }
        if byte == self.delimiter {
            try self.endCell()
            // What follows is a cell, even at the end of the file.
            return nil
        }
        if Self.isLineEnd(byte) {
            self.isAfterCarriageReturn = byte == Self.carriageReturn
            return try self.endRecord()
        }
        if case .quoteInQuotes = self.state {
            throw self.position.failure("something follows the closing quote of a cell")
        }
        self.state = .plain
        try self.append([byte])
        return nil
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(FormatError) {
        guard self.cell.count + bytes.count <= Self.cellBytesMax else {
            throw self.cellPosition.failure("a cell of more than \(Self.cellBytesMax) bytes")
        }
        self.cell += bytes
    }

    private mutating func endCell() throws(FormatError) {
        guard let text = String(validating: self.cell, as: UTF8.self) else {
            throw self.cellPosition.failure("not valid UTF-8")
        }
        guard self.cells.count < Self.cellsMax else {
            throw self.position.failure("more than \(Self.cellsMax) cells in a line")
        }
        self.cells.append(Cell(text: text, isQuoted: self.isQuoted, position: self.cellPosition))
        self.cell.removeAll(keepingCapacity: true)
        self.isQuoted = false
        self.state = .cellStart
    }

    /// `nil` for a blank line.
    private mutating func endRecord() throws(FormatError) -> [Cell]? {
        let isBlank = self.cells.isEmpty && self.cell.isEmpty && !self.isQuoted
        guard !isBlank else { return nil }
        try self.endCell()
        defer { self.cells = [] }
        return self.cells
    }
}
