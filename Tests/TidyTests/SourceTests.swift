import NestTestSupport
import Testing

/// Source rules that the compiler does not check.
@Suite struct SourceTests {
    /// The maximum number of lines in a file. A longer file should be split by subject.
    private static let fileLinesMax = 500

    /// The `@unchecked Sendable` types, each with the reason why it is safe between threads.
    private static let uncheckedSendable = [
        "Rows": "the reading thread creates the tree nodes, hands them over and keeps no reference",
        "LiveState": "its creator hands it over and keeps no reference to its tree nodes",
        "TableDigest": "the engine's thread begins the read, hands it over and keeps no reference",
        "XMLReader": "libxml2's context is used only under the lock, and is freed with the parser",
    ]

    @Test func sourceFilesAreNotLong() throws {
        for source in try Repository.sources(under: "Sources") {
            let lineCount = source.text.utf8.count { $0 == 0x0a }
            #expect(lineCount <= Self.fileLinesMax, "\(source.path) has \(lineCount) lines")
        }
    }

    /// Add a new type to the list with its reason or, better, remove the need for `@unchecked`.
    @Test func uncheckedSendableTypesAreListed() throws {
        let declaration = /(?:class|struct|enum|extension|actor) (\w+)[^\n{]*@unchecked Sendable/
        let found = try Repository.sources(under: "Sources").flatMap { source in
            source.text.matches(of: declaration).map { String($0.1) }
        }
        #expect(found.sorted() == Self.uncheckedSendable.keys.sorted())
        // Catches declarations that the pattern above does not match.
        let count = try Repository.sources(under: "Sources").reduce(0) { $0 + $1.text.matches(of: /@unchecked/).count }
        #expect(count == found.count)
    }
}
