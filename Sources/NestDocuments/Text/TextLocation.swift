/// A source location: a line and a column of a text.
package struct TextLocation: Equatable, Sendable {
    /// Counted from 1.
    package private(set) var line = 1
    /// In Unicode scalars, counted from 1.
    package private(set) var column = 1

    package init(line: Int = 1, column: Int = 1) {
        self.line = line
        self.column = column
    }

    mutating func advance(over bytes: ArraySlice<UInt8>) {
        for byte in bytes { self.advance(over: byte) }
    }

    mutating func advance(over byte: UInt8) {
        if byte == UInt8(ascii: "\n") {
            self.line += 1
            self.column = 1
        } else if byte & 0xc0 != 0x80 {
            // The other bytes of a scalar begin with the bits 10.
            self.column += 1
        }
    }

    /// Advances over a text that ends at `end`, located from its own beginning.
    mutating func advance(by end: TextLocation) {
        self.column = end.line == 1 ? self.column + end.column - 1 : end.column
        self.line += end.line - 1
    }

    func precedes(_ other: TextLocation) -> Bool { (self.line, self.column) < (other.line, other.column) }

    package func failure(_ message: String) -> FormatError {
        FormatError(line: self.line, column: self.column, message)
    }
}
