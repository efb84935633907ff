/// Input that is not what its format says, or an outline that a format cannot hold.
package struct FormatError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Counted from 1; 0 when the error is about no line.
    package var line: Int
    /// In characters (Unicode scalars), counted from 1; 0 when it is not known.
    package var column: Int
    package var message: String

    package init(line: Int = 0, column: Int = 0, _ message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    /// An error at a byte of a text whose first line has this number.
    package init(at index: Int, in bytes: some Sequence<UInt8>, firstLine: Int = 1, _ message: String) {
        self.init(line: firstLine, column: 1, message)
        for byte in bytes.prefix(index) {
            if byte == UInt8(ascii: "\n") {
                self.line += 1
                self.column = 1
            } else if byte & 0xc0 != 0x80 {
                // Bytes that go on with a character begin with the bits 10.
                self.column += 1
            }
        }
    }

    package var description: String {
        if self.line == 0 { return self.message }
        return self.column == 0
            ? "line \(self.line): \(self.message)" : "line \(self.line), column \(self.column): \(self.message)"
    }
}
