import NestDocuments
import NestModel
import NestTestSupport
import Testing

/// Outlines and files with the marks of Org, TaskPaper, Workflowy and Dynalist. To replay a failure, put its seed in
/// the range.
@Suite struct MarkedOutlineTests {
    private static let seeds = 0..<1_500 as Range<UInt64>

    private static func expected(_ row: OutlineRow, _ format: OutlineFormat) -> OutlineRow {
        if format == .org { return row }
        if format == .taskpaper { return MarkedOutlines.withoutMarkValue(row) }
        var row = row
        row.extra = nil
        return row
    }

    /// Rows that are written and read in pieces of any size are unchanged. What a format cannot hold is counted.
    @Test(arguments: [OutlineFormat.org, .taskpaper, .workflowy, .dynalist])
    func outlinesRoundTrip(_ format: OutlineFormat) throws {
        for seed in Self.seeds {
            var random = SeededRandom(seed: seed)
            let rows = MarkedOutlines.rows(&random)
            let (bytes, warnings) = try writeOutline(rows, format)
            let text = String(decoding: bytes, as: UTF8.self)
            let wanted = rows.map { Self.expected($0, format) }
            #expect(try readOutline(bytes, format).rows == wanted, "seed \(seed): \(text)")
            let pieceBytes = 1 + random.below(9)
            #expect(try readOutline(bytes, format, pieceBytes: pieceBytes).rows == wanted, "seed \(seed) in pieces")
            #expect(wanted == rows || !warnings.isEmpty, "seed \(seed): a loss is not counted")
        }
    }

    /// Any text gives the same rows in pieces of any size. Written and read again, they are unchanged, and so is the
    /// file that is written then.
    @Test(arguments: [OutlineFormat.org, .taskpaper, .workflowy, .dynalist])
    func filesRoundTrip(_ format: OutlineFormat) throws {
        for seed in Self.seeds {
            var random = SeededRandom(seed: seed)
            let file = MarkedOutlines.file(&random)
            let text = String(decoding: file, as: UTF8.self)
            let rows = try readOutline(file, format).rows
            #expect(
                try readOutline(file, format, pieceBytes: 1 + random.below(5)).rows == rows,
                "seed \(seed) in pieces"
            )
            let written = try writeOutline(rows, format)
            #expect(written.warnings == [], "seed \(seed): \(text)")
            let again = try readOutline(written.bytes, format).rows
            #expect(again == rows, "seed \(seed): \(text)")
            #expect(try writeOutline(again, format).bytes == written.bytes, "seed \(seed): \(text)")
        }
    }

    /// Files as their programs write them are unchanged after an import and an export.
    @Test(arguments: [
        (OutlineFormat.org, OrgTests.file), (.taskpaper, TaskPaperTests.file), (.workflowy, BulletTests.workflowy),
        (.dynalist, BulletTests.dynalist),
    ])
    func filesOfProgramsAreUnchanged(_ format: OutlineFormat, _ file: String) throws {
        let read = try readOutline(Array(file.utf8), format)
        #expect(read.warnings == [])
        #expect(try writtenText(read.rows, format) == file)
        let windows = file.replacing("\n", with: "\r\n")
        #expect(try readOutline(Array("\u{feff}\(windows)".utf8), format).rows == read.rows)
    }

    /// Org and TaskPaper hold what the other has, JSON too.
    @Test func orgAndTaskPaperHoldEachOther() throws {
        for (file, format, other) in [
            (OrgTests.file, OutlineFormat.org, OutlineFormat.taskpaper), (TaskPaperTests.file, .taskpaper, .org),
        ] {
            for middle in [other, .json, .csv] {
                let rows = try readOutline(Array(file.utf8), format).rows
                let held = try readOutline(try writeOutline(rows, middle).bytes, middle).rows
                #expect(try writtenText(held, format) == file, "\(format) by \(middle)")
            }
        }
    }

    @Test(arguments: [OutlineFormat.org, .taskpaper, .workflowy, .dynalist])
    func errorsHaveALocation(_ format: OutlineFormat) throws {
        let first = format == .org ? "* a\n* " : "- a\n- "
        #expect(fault(Array("\(first)é".utf8) + [0xff], format) == FormatError(line: 2, column: 4, "not valid UTF-8"))
        #expect(fault("\(first)b\u{0}", format) == FormatError(line: 2, column: 1, "a NUL character in a title"))
        #expect(fault([0xff, 0xfe, 0x2a, 0], format)?.message.contains("UTF-16") == true)
        let long = String(repeating: "x", count: Limits.valueBytesMax + 1)
        #expect(fault("\(first)\(long)", format)?.line == 2)
        #expect(fault("\(first)b\n    \(long)", format)?.message.contains("a note of more than") == true)
        let lines = String(repeating: "    \(long)\n", count: 129)
        #expect(fault("\(first)b\n\(lines)", format)?.message.contains("bytes") == true)
    }
}
