import NestTestSupport
import Testing

/// Rules of the sources that the compiler does not know.
@Suite struct SourceTests {
    /// A file of more lines has two subjects.
    private static let fileLinesMax = 500

    /// What the compiler cannot see to be safe between threads, with the proof.
    private static let uncheckedSendable = [
        "Rows": "the thread that reads makes the nodes of its tree, hands them over and keeps none",
        "LiveState": "its maker gives it away and keeps no node of its tree",
        "XMLReader": "libxml2's context is used under the lock alone, and freed with the parser",
    ]

    @Test func sourceFilesAreNotLong() throws {
        for source in try Repository.sources(under: "Sources") {
            let lineCount = source.text.utf8.count { $0 == 0x0a }
            #expect(lineCount <= Self.fileLinesMax, "\(source.path) has \(lineCount) lines")
        }
    }

    /// A new one is added to the list with its proof, or better, made unnecessary.
    @Test func uncheckedSendableTypesAreListed() throws {
        let declaration = /(?:class|struct|enum|extension|actor) (\w+)[^\n{]*@unchecked Sendable/
        let found = try Repository.sources(under: "Sources").flatMap { source in
            source.text.matches(of: declaration).map { String($0.1) }
        }
        #expect(found.sorted() == Self.uncheckedSendable.keys.sorted())
        // In any other form, the names above would not be all.
        let count = try Repository.sources(under: "Sources").reduce(0) { $0 + $1.text.matches(of: /@unchecked/).count }
        #expect(count == found.count)
    }
}
