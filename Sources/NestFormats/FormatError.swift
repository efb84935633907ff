/// Input that is not what its format says, or an outline that a format cannot hold.
package struct FormatError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Counted from 1; 0 when the error is about no line.
    package var line: Int
    /// In characters (Unicode scalars), counted from 1.
    package var column: Int
    package var message: String

    package init(line: Int, column: Int, _ message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    package var description: String {
        self.line == 0 ? self.message : "line \(self.line), column \(self.column): \(self.message)"
    }
}
