import NestDocuments
import NestModel
import NestTestSupport
import Testing
import NestProtocol

/// Reads `bytes` in pieces of the given size.
private func read(_ bytes: [UInt8], pieceBytes: Int = .max) throws(FormatError) -> [OutlineRow] {
    var reader = IndentedTextReader()
    var rows: [OutlineRow] = []
    var start = 0
    while start < bytes.count {
        let end = start + min(pieceBytes, bytes.count - start)
        try reader.read(Array(bytes[start..<end]), into: &rows)
        start = end
    }
    try reader.finish(into: &rows)
    return rows
}

private func read(_ text: String) throws -> [String] {
    try read(Array(text.utf8)).map { "\($0.depth)|\($0.title)" }
}

private func write(_ rows: [OutlineRow]) throws -> [UInt8] {
    var writer = IndentedTextWriter()
    for row in rows { try writer.write(row) }
    try writer.finish()
    return writer.take()
}

@Suite struct IndentedTextReaderTests {
    @Test func tabsAndSpacesGiveDepths() throws {
        #expect(try read("a\n\tb\n\t\tc\n\td\ne\n") == ["0|a", "1|b", "2|c", "1|d", "0|e"])
        #expect(try read("a\n  b\n    c\n  d\ne") == ["0|a", "1|b", "2|c", "1|d", "0|e"])
    }

    @Test func aTabEqualsOneLevelOfTheSpacesBefore() throws {
        #expect(try read("a\n  b\n\tc\n\t\td") == ["0|a", "1|b", "1|c", "2|d"])
        #expect(try read("a\n\tb\n    c\n        d") == ["0|a", "1|b", "1|c", "2|d"])
    }

    @Test func aJumpCountsAsOneLevel() throws {
        #expect(try read("a\n\t\t\tb\n\t\t\t\tc\nd") == ["0|a", "1|b", "2|c", "0|d"])
    }

    @Test func anUnevenDedentMovesToTheNearestLevel() throws {
        #expect(try read("a\n    b\n  c\n    d") == ["0|a", "1|b", "1|c", "2|d"])
        #expect(try read("a\n    b\n c") == ["0|a", "1|b", "0|c"])
        var reader = IndentedTextReader()
        var rows: [OutlineRow] = []
        try reader.read(Array("a\n    b\n c".utf8), into: &rows)
        try reader.finish(into: &rows)
        #expect(reader.warnings == ["1 line begins between two levels; moved to the nearest"])
    }

    @Test func anIndentedFirstLineIsAtTheTopLevel() throws {
        #expect(try read("    a\n      b\nc\n  d") == ["0|a", "1|b", "0|c", "1|d"])
    }

    @Test func lineEndsBlankLinesAndByteOrderMarksAreRead() throws {
        #expect(try read("\u{feff}a\r\n\tb\r\rc\n\n   \n\t\nd") == ["0|a", "1|b", "0|c", "0|d"])
        #expect(try read("\u{feff}\ta\n\t\tb") == ["0|a", "1|b"])
        #expect(try read("") == [])
        #expect(try read("\n\r\n") == [])
    }

    @Test func bulletsAndTrailingSpacesAreKeptAsText() throws {
        #expect(try read("- a \n  * b") == ["0|- a ", "1|* b"])
    }

    @Test func backslashesOfForeignTextAreKept() throws {
        #expect(try read("C:\\new\n\\section{x}\n\\\n\\\\\n\\x\\ny")[0...1] == ["0|C:\\new", "0|\\section{x}"])
    }

    @Test func escapesAreDecoded() throws {
        #expect(try read("\\\n\\ a\n\\one\\ntwo\\\\three") == ["0|", "0| a", "0|one\ntwo\\three"])
    }

    @Test func badBytesAreRefusedWithTheirLocation() throws {
        func failure(_ bytes: [UInt8]) -> FormatError? {
            do throws(FormatError) {
                _ = try read(bytes)
                return nil
            } catch {
                return error
            }
        }
        #expect(
            failure(Array("a\n\té".utf8) + [0xff, 0x41]) == FormatError(line: 2, column: 3, "not valid UTF-8")
        )
        #expect(failure(Array("ab\u{0}c".utf8)) == FormatError(line: 1, column: 3, "a NUL character"))
        #expect(failure([0xff, 0xfe, 0x41, 0x00])?.message.contains("UTF-16") == true)
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: Limits.valueBytesMax)
        #expect(failure(long) == nil)
        #expect(failure(Array("a\n ".utf8) + long + [0x78])?.line == 2)
        #expect(failure(Array(repeatElement(long, count: 40).joined()))?.column == 1)
    }
}

/// Returns a title that is hard to write on one line.
private func title(_ random: inout SeededRandom) -> String {
    let parts = [
        "", " ", "\t", "\n", "\r", "\\", "\\n", "\\\\", "a", "é", "e\u{301}", "😀", "\u{feff}", "\u{a0}", "\u{2028}",
        "- ",
        "[x] ", "word", "\\r", "\"",
    ]
    return (0..<random.below(6)).map { _ in parts[random.below(parts.count)] }.joined()
}

private func outline(_ random: inout SeededRandom) -> [OutlineRow] {
    var depth = -1
    return (0..<random.below(30)).map { _ in
        depth = random.below(depth + 2)
        return OutlineRow(depth: depth, title: title(&random))
    }
}

@Suite struct IndentedTextRoundTripTests {
    /// Rows that are written and read in pieces of any size are unchanged.
    @Test func rowsRoundTripInPiecesOfAnySize() throws {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let rows = outline(&random)
            let bytes = try write(rows)
            #expect(try read(bytes) == rows, "seed \(seed)")
            #expect(try read(bytes, pieceBytes: 1 + random.below(7)) == rows, "seed \(seed), in pieces")
        }
    }

    /// Any text gives the same rows in pieces of any size. These rows are unchanged after they are written and read.
    @Test func readingDoesNotDependOnThePieceSize() throws {
        let parts = ["a", "b c", "\n", "\r\n", "\r", "\t", " ", "  ", "\\", "\\n", "\u{feff}", "é", "- x"]
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let text = (0..<random.below(40)).map { _ in parts[random.below(parts.count)] }.joined()
            let bytes = Array(text.utf8)
            let rows = try read(bytes)
            #expect(try read(bytes, pieceBytes: 1) == rows, "seed \(seed)")
            #expect(try read(bytes, pieceBytes: 1 + random.below(5)) == rows, "seed \(seed)")
            #expect(try read(try write(rows)) == rows, "seed \(seed), written again")
        }
    }

    /// Random bytes give rows or an error with a location. The rows are unchanged after they are written and read.
    @Test func randomBytesAreReadOrRefused() throws {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let alphabet: [UInt8] = [0x09, 0x0a, 0x0d, 0x20, 0x41, 0x5c, 0x6e, 0xc3, 0xa9, 0xff, 0xef, 0xbb, 0xbf]
            let bytes = (0..<random.below(60)).map { _ in alphabet[random.below(alphabet.count)] }
            let rows: [OutlineRow]
            do throws(FormatError) {
                rows = try read(bytes)
            } catch {
                #expect(error.line >= 1 && error.column >= 1, "seed \(seed)")
                continue
            }
            var depth = -1
            for row in rows {
                #expect(row.depth <= depth + 1, "seed \(seed)")
                depth = row.depth
            }
            #expect(try read(try write(rows)) == rows, "seed \(seed)")
        }
    }
}
