/// Reads an outline from bytes that come in pieces of any size. Memory does not grow with the input, only with the
/// longest row and the depth.
package protocol OutlineReader: Sendable {
    /// Takes the next piece and appends the rows that it completes.
    mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError)
    /// The input is at its end.
    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError)
    /// What was repaired while reading, in words for people; empty when nothing was.
    var warnings: [String] { get }
}

/// Writes an outline as bytes, row by row.
package protocol OutlineWriter: Sendable {
    mutating func write(_ row: OutlineRow) throws(FormatError)
    /// The outline is at its end.
    mutating func finish() throws(FormatError)
    /// Bytes that are ready.
    var byteCount: Int { get }
    /// The bytes since the last call.
    mutating func take() -> [UInt8]
}

/// The formats that outlines are read from and written to.
package enum OutlineFormat: String, CaseIterable, Sendable {
    /// Indented text: see `IndentedTextReader`.
    case text

    /// The format that a file's name says, or `nil`.
    package init?(fileName: String) {
        guard let dot = fileName.lastIndex(of: ".") else { return nil }
        switch fileName[fileName.index(after: dot)...].lowercased() {
        case "txt", "text", "outline": self = .text
        default: return nil
        }
    }

    package func reader() -> any OutlineReader {
        switch self {
        case .text: IndentedTextReader()
        }
    }

    package func writer() -> any OutlineWriter {
        switch self {
        case .text: IndentedTextWriter()
        }
    }
}
