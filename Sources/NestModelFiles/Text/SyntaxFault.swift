/// Text that is not of its form, and where.
struct SyntaxFault: Error, Equatable, CustomStringConvertible {
    /// Counted from 1; 0 when the fault is at no one place.
    var line = 0
    /// In characters (Unicode scalars), counted from 1.
    var column = 0
    var message: String

    init(line: Int = 0, column: Int = 0, _ message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    var description: String {
        self.line == 0 ? self.message : "line \(self.line), column \(self.column): \(self.message)"
    }
}
