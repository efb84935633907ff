import NestModel

/// Cuts a table into records and cells (RFC 4180). A cell in quotes may have delimiters, line ends, and quotes written
/// twice. Records end with LF, CR or CRLF. Skips blank lines and a byte order mark.
struct TableScanner: Sendable {
    struct Cell: Sendable {
        var text: String
        /// Whether the cell is in quotes: an empty cell in quotes is an empty text, not a missing value.
        var isQuoted: Bool
        /// Where it begins.
        var location: TextLocation
    }

    private enum State: Sendable {
        case cellStart
        case plain
        case quoted
        /// After a quote within quotes, which ends the cell or is the first of two.
        case quoteInQuotes
    }

    private static let quote = UInt8(ascii: "\"")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let cellBytesMax = 8 * Limits.valueBytesMax
    private static let cellsMax = 1_000

    private let dialect: TableDialect
    /// `nil` until the first line has arrived.
    private var delimiter: UInt8?
    private var first: [UInt8] = []
    private var state = State.cellStart
    private var location = TextLocation()
    private var cellLocation = TextLocation()
    private var isQuoted = false
    private var isAfterCarriageReturn = false
    private var cell: [UInt8] = []
    private var cells: [Cell] = []

    init(_ dialect: TableDialect) {
        self.dialect = dialect
    }

    /// Returns the records that the piece completes.
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
        if case .quoted = self.state { throw self.cellLocation.failure("a cell has no closing quote") }
        if let record = try self.endRecord() { records.append(record) }
        return records
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == Self.lineFeed || byte == Self.carriageReturn }

    private mutating func begin(firstLine: ArraySlice<UInt8>) throws(FormatError) -> [[Cell]] {
        let markCount = try UTF8Text.markCount(self.first)
        self.delimiter = self.dialect.delimiter(of: firstLine)
        defer { self.first = [] }
        return try self.scan(self.first.dropFirst(markCount))
    }

    private mutating func scan(_ bytes: ArraySlice<UInt8>) throws(FormatError) -> [[Cell]] {
        var records: [[Cell]] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let run = self.run(bytes[index...])
            if !run.isEmpty {
                try self.append(run)
                self.location.advance(over: run)
                index = run.endIndex
                continue
            }
            let byte = bytes[index]
            if self.isAfterCarriageReturn {
                self.isAfterCarriageReturn = false
                if byte == Self.lineFeed {
                    // The CR and this LF are one line end.
                    self.location.advance(over: byte)
                    self.cellLocation = self.location
                    index += 1
                    continue
                }
                self.location.advance(over: Self.lineFeed)
                self.cellLocation = self.location
            }
            if let record = try self.take(byte) { records.append(record) }
            if !self.isAfterCarriageReturn { self.location.advance(over: byte) }
            if case .cellStart = self.state { self.cellLocation = self.location }
            index += 1
        }
        return records
    }

    /// Returns the bytes at the start that belong to the cell and have no meaning of their own.
    private func run(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        switch self.state {
        case .quoted: bytes.prefix { $0 != Self.quote }
        case .plain:
            bytes.prefix { $0 != self.delimiter && $0 != Self.lineFeed && $0 != Self.carriageReturn }
        case .cellStart, .quoteInQuotes: []
        }
    }

    /// Takes a byte and returns the record that it ends.
    private mutating func take(_ byte: UInt8) throws(FormatError) -> [Cell]? {
        switch self.state {
        case .quoted:
            // This is a quote: `run` takes all others.
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
            // Another cell follows, even at the end of the file.
            return nil
        }
        if Self.isLineEnd(byte) {
            self.isAfterCarriageReturn = byte == Self.carriageReturn
            return try self.endRecord()
        }
        if case .quoteInQuotes = self.state {
            throw self.location.failure("a delimiter or line end must follow the closing quote of a cell")
        }
        self.state = .plain
        try self.append([byte])
        return nil
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(FormatError) {
        guard self.cell.count + bytes.count <= Self.cellBytesMax else {
            throw self.cellLocation.failure("a cell of more than \(Self.cellBytesMax) bytes")
        }
        self.cell += bytes
    }

    private mutating func endCell() throws(FormatError) {
        guard let text = String(validating: self.cell, as: UTF8.self) else {
            throw self.cellLocation.failure("a cell is not valid UTF-8")
        }
        guard self.cells.count < Self.cellsMax else {
            throw self.location.failure("more than \(Self.cellsMax) cells in a line")
        }
        self.cells.append(Cell(text: text, isQuoted: self.isQuoted, location: self.cellLocation))
        self.cell.removeAll(keepingCapacity: true)
        self.isQuoted = false
        self.state = .cellStart
    }

    /// Returns `nil` for a blank line.
    private mutating func endRecord() throws(FormatError) -> [Cell]? {
        let isBlank = self.cells.isEmpty && self.cell.isEmpty && !self.isQuoted
        guard !isBlank else { return nil }
        try self.endCell()
        defer { self.cells = [] }
        return self.cells
    }
}
