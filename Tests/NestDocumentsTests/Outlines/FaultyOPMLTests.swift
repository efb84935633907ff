import Foundation
import NestDocuments
import NestModel
import NestTestSupport
import Testing

/// A file of `Tests/Fixtures/outlines/faulty`, and the results of reading it.
struct FaultyFile: Sendable {
    var name: String
    /// The error of a strict reader.
    var error: String
    /// What a lenient reader repairs, by the names of the kinds; `nil` if it has the same error.
    var repairs: [String: Int]?

    /// The causes for which real files are refused, one file for each.
    static let all = [
        FaultyFile(
            "bare-ampersands",
            "line 7, column 26: an & that begins no reference; write &amp;",
            ["ampersands": 5]
        ),
        FaultyFile("html-references", "line 7, column 31: an unknown entity &eacute; (XML has", ["entities": 5]),
        FaultyFile("missing-semicolons", "line 7, column 28: a reference without its semicolon", ["semicolons": 5]),
        FaultyFile("less-than", "line 7, column 22: a < in the value of an attribute", ["lessThanSigns": 4]),
        FaultyFile("blank-first", "line 2, column 3: white space before the XML declaration", ["spaces": 1]),
        FaultyFile(
            "blank-first-latin",
            "line 2, column 1: white space before the XML declaration; remove it",
            ["spaces": 1, "ampersands": 1]
        ),
        FaultyFile("unknown-reference", "line 7, column 34: an unknown entity &frobnicate;", ["ampersands": 1]),
        FaultyFile("no-character", "line 7, column 26: a character that XML does not allow", ["ampersands": 2]),
        FaultyFile("declaration", "line 7, column 5: <! begins a comment (<!-- … -->) or", ["lessThanSigns": 1]),
        FaultyFile("rss", "line 2, column 19: not OPML: the outermost element is <rss>; <opml> is expected"),
        FaultyFile("page", "line 1, column 1: an HTML page (<!DOCTYPE html>) is no outline"),
        FaultyFile("page-without-doctype", "line 1, column 6: not OPML: the outermost element is <html>"),
        FaultyFile("words", "line 1, column 1: not XML: an element is expected here"),
        FaultyFile("list", "line 1, column 1: not XML: an element is expected here"),
        FaultyFile("empty", "line 1, column 1: the file is empty"),
        FaultyFile("blank", "line 3, column 1: the XML ends too early"),
        FaultyFile(
            "unclosed",
            "line 9, column 10: the end tag </body> has another name than the element <outline> of line 7; "
                + "write </outline> first"
        ),
        FaultyFile(
            "cut-short",
            "line 6, column 1: the XML ends too early: <outline> of line 4 has no end tag </outline>"
        ),
        FaultyFile("cut-in-value", "line 5, column 1: the value of an attribute has no closing quote"),
        FaultyFile("double-attribute", "line 7, column 31: an element has an attribute twice: text; remove one"),
        FaultyFile("quotes-in-value", "line 7, column 25: a space is missing here; write &quot; for a \""),
        FaultyFile("value-without-quotes", "line 7, column 19: the value of an attribute is not in quotes"),
        FaultyFile("attribute-without-value", "line 7, column 29: the attribute done has no value; write done=\"\""),
        FaultyFile("control-character", "line 7, column 21: a character that XML does not allow; remove it"),
        FaultyFile("after-the-end", "line 10, column 1: something follows the end of the outermost element"),
        FaultyFile("comment", "line 7, column 12: -- in a comment; write - -"),
        FaultyFile("no-version", "line 1, column 7: the XML declaration has no version; write version=\"1.0\""),
        FaultyFile("latin-undeclared", "line 7, column 23: bytes that are not UTF-8; convert the file to UTF-8, or"),
        FaultyFile("gbk", "the encoding is GBK; convert the file to UTF-8 and declare encoding=\"UTF-8\""),
        FaultyFile("shift-jis", "the encoding is Shift_JIS; convert the file"),
        FaultyFile("big5", "the encoding is Big5; convert the file"),
        FaultyFile("koi8-r", "the encoding is KOI8-R; convert the file"),
        FaultyFile("utf-16", "the text is UTF-16; convert it to UTF-8 first"),
        FaultyFile("utf-16-without-mark", "the text is UTF-16; convert it to UTF-8 first"),
        FaultyFile("unknown-encoding", "line 1, column 43: the encoding ISO-8859-77 is not known; convert"),
    ]

    private init(_ name: String, _ error: String, _ repairs: [String: Int]? = nil) {
        (self.name, self.error, self.repairs) = (name, error, repairs)
    }
}

@Suite struct FaultyOPMLTests {
    private func read(_ name: String, isLenient: Bool, pieceBytes: Int) -> Result<
        ([OutlineRow], [String: Int]), FormatError
    > {
        do throws(FormatError) {
            var reader = OutlineFormat.opml.reader(ReadingOptions(isLenient: isLenient))
            var rows: [OutlineRow] = []
            let bytes = (try? Repository.bytes("Tests/Fixtures/outlines/faulty/\(name).opml")) ?? []
            for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
                try reader.read(Array(bytes[start..<min(start + pieceBytes, bytes.count)]), into: &rows)
            }
            try reader.finish(into: &rows)
            let counts = RepairKind.allCases.map { ($0.rawValue, reader.repairs?[$0] ?? 0) }.filter { $0.1 > 0 }
            return .success((rows, Dictionary(uniqueKeysWithValues: counts)))
        } catch {
            return .failure(error)
        }
    }

    /// Each cause is an error that names the location and the remedy, in pieces of any size. A lenient reader repairs
    /// and counts it, or has the same error.
    @Test(arguments: FaultyFile.all) func faultsAreReportedOrRepaired(_ file: FaultyFile) throws {
        for pieceBytes in [1, 3, 10_000] {
            guard case .failure(let error) = self.read(file.name, isLenient: false, pieceBytes: pieceBytes) else {
                Issue.record("\(file.name) was read")
                continue
            }
            #expect(error.description.contains(file.error))
            #expect(error.isRepairable == (file.repairs != nil) || file.name == "declaration", "\(error)")
            switch self.read(file.name, isLenient: true, pieceBytes: pieceBytes) {
            case .failure(let same):
                #expect(file.repairs == nil, "\(same)")
                #expect(same == error)
            case .success(let (_, repairs)): #expect(repairs == file.repairs)
            }
        }
    }

    @Test func everyFaultyFileIsTested() throws {
        let folder = Repository.root.appending(path: "Tests/Fixtures/outlines/faulty")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path())
        #expect(Set(names) == Set(FaultyFile.all.map { "\($0.name).opml" }))
    }

    @Test func repairedTextsAreWhatTheirAuthorsMeant() throws {
        func rows(_ name: String) throws -> [String] {
            try self.read(name, isLenient: true, pieceBytes: 5).get().0.map(brief)
        }
        #expect(
            try rows("bare-ampersands") == [
                "0|Arts & Crafts",
                #"1|Salt & Pepper|{"xmlUrl": "https://example.org/feed?cat=7&copy=2&lang=en"}"#,
                #"1|Q&A|{"xmlUrl": "https://example.org/q&a.xml"}"#,
            ]
        )
        #expect(
            try rows("html-references") == [#"0|Café\#u{a0}— news|{"description": "© the café & friends"}"#]
        )
        #expect(
            try rows("missing-semicolons") == [#"0|Tea & coffee|{"description": "© 2026, 5 < 6, café é"}"#]
        )
        #expect(try rows("less-than") == [#"0|x < y|{"description": "<b>bold</b>"}"#])
        #expect(try rows("blank-first-latin") == ["0|Café & bar"])
        #expect(try rows("unknown-reference") == ["0|a &frobnicate; b"])
    }

    /// A tag of 11 MB: the error names the limit and the place, whatever the size of the pieces.
    @Test func longTagsAreRefusedByTheirLimit() {
        let long = String(repeating: "x", count: 11_000_000)
        let bytes = Array("<opml><body>\n<outline text=\"\(long)\"/></body></opml>".utf8)
        for isLenient in [false, true] {
            var reader = OutlineFormat.opml.reader(ReadingOptions(isLenient: isLenient))
            var rows: [OutlineRow] = []
            let error = #expect(throws: FormatError.self) { try reader.read(bytes, into: &rows) }
            #expect(
                error?.description
                    == "line 2, column 1: a tag, comment, instruction or CDATA section of more than 1310720 bytes"
            )
        }
    }
}
