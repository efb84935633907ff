/// The error for a text that violates the rules of its format, or for an outline that a format cannot hold.
package struct FormatError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Counted from 1; 0 when the error has no location.
    package var line: Int
    /// In Unicode scalars, counted from 1; 0 when only the line is known.
    package var column: Int
    package var message: String
    /// Whether a lenient reader repairs such a fault: see `ReadingOptions.isLenient`.
    package var isRepairable = false

    package init(line: Int = 0, column: Int = 0, _ message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    /// Creates an error at a byte of a text that begins at `start`.
    package init(
        at index: Int,
        in bytes: some Sequence<UInt8>,
        start: TextLocation = TextLocation(),
        _ message: String
    ) {
        var location = start
        for byte in bytes.prefix(index) { location.advance(over: byte) }
        self = location.failure(message)
    }

    package var description: String {
        if self.line == 0 { return self.message }
        return self.column == 0
            ? "line \(self.line): \(self.message)" : "line \(self.line), column \(self.column): \(self.message)"
    }
}
