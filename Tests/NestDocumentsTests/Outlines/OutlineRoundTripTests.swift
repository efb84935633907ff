import NestDocuments
import NestModel
import NestTestSupport
import Testing

/// Rows that are written and read in pieces of any size are unchanged. To replay a failure, put its seed in the range.
@Suite struct OutlineRoundTripTests {
    private static let seeds = 0..<1_500 as Range<UInt64>

    private static func check(_ format: OutlineFormat, _ expected: (OutlineRow) -> OutlineRow = { $0 }) throws {
        for seed in Self.seeds {
            var random = SeededRandom(seed: seed)
            let rows = HardOutlines.rows(&random)
            let bytes = try writeOutline(rows, format).bytes
            let text = String(decoding: bytes, as: UTF8.self)
            let wanted = rows.map(expected)
            #expect(try readOutline(bytes, format).rows == wanted, "seed \(seed): \(text)")
            let pieceBytes = 1 + random.below(9)
            #expect(try readOutline(bytes, format, pieceBytes: pieceBytes).rows == wanted, "seed \(seed) in pieces")
        }
    }

    @Test func jsonLinesRoundTrip() throws { try Self.check(.jsonl) }
    @Test func jsonRoundTrips() throws { try Self.check(.json) }
    @Test func csvRoundTrips() throws { try Self.check(.csv) }
    @Test func tsvRoundTrips() throws { try Self.check(.tsv) }

    @Test func orgRoundTrips() throws { try Self.check(.org) }

    /// An item that is not done has no value of its mark.
    @Test func taskPaperRoundTrips() throws { try Self.check(.taskpaper, MarkedOutlines.withoutMarkValue) }

    @Test(arguments: [OutlineFormat.workflowy, .dynalist])
    func bulletsRoundTrip(_ format: OutlineFormat) throws {
        try Self.check(format) { row in
            var row = row
            row.extra = nil
            return row
        }
    }

    /// Markdown has no extra and no empty notes.
    @Test func markdownRoundTrips() throws {
        try Self.check(.md) { row in
            var row = row
            row.extra = nil
            if row.note == "" { row.note = nil }
            return row
        }
    }

    /// OPML keeps every title, note, mark and order.
    @Test func opmlRoundTrips() throws {
        try Self.check(.opml) { row in
            var row = row
            row.extra = nil
            return row
        } only: { row in
            row.extra = nil
        }
    }

    private static func check(
        _ format: OutlineFormat,
        _ expected: (OutlineRow) -> OutlineRow,
        only strip: (inout OutlineRow) -> Void
    ) throws {
        for seed in Self.seeds {
            var random = SeededRandom(seed: seed)
            var rows = HardOutlines.rows(&random)
            for index in rows.indices { strip(&rows[index]) }
            let bytes = try writeOutline(rows, format).bytes
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(try readOutline(bytes, format).rows == rows.map(expected), "seed \(seed): \(text)")
            let pieceBytes = 1 + random.below(50)
            #expect(try readOutline(bytes, format, pieceBytes: pieceBytes).rows == rows, "seed \(seed) in pieces")
        }
    }

    /// Rows with any extra, once read from OPML, are unchanged after they are written and read again.
    @Test func opmlWithExtraRoundTrips() throws {
        for seed in Self.seeds {
            var random = SeededRandom(seed: seed)
            let rows = HardOutlines.rows(&random)
            let once = try readOutline(try writeOutline(rows, .opml).bytes, .opml).rows
            #expect(once.map(\.depth) == rows.map(\.depth) && once.map(\.done) == rows.map(\.done), "seed \(seed)")
            let written = try writeOutline(once, .opml).bytes
            let again = try readOutline(written, .opml).rows
            #expect(again == once, "seed \(seed): \(String(decoding: written, as: UTF8.self))")
        }
    }

    /// In every format, random bytes give rows or an error with a location. The rows are unchanged after they are
    /// written and read as JSON.
    @Test func randomBytesAreReadOrRefused() throws {
        let pieces = [
            "<opml>", "<body>", "<outline text=\"a\">", "</outline>", "<?a?>", "<!DOCTYPE", "&#x0;", "<", ">", "\"",
            "{", "}",
            "[", "]", ":", ",", "\"title\"", "\"children\":[", "\\", "\n", "\r", "\t", "  ", "- ", "# ", "```",
            "level,title\n",
            "1", "0", "\u{0}", "é", "null", "---\n", "[x] ", "=",
        ].map { Array($0.utf8) }
        for format in OutlineFormat.allCases {
            let whole = try writeOutline([OutlineRow(depth: 0, title: "a"), OutlineRow(depth: 1, title: "b")], format)
                .bytes
            var rowCount = 0
            for seed in 0..<600 as Range<UInt64> {
                var random = SeededRandom(seed: seed)
                var bytes = (0..<random.below(30)).flatMap { _ in pieces[random.below(pieces.count)] }
                // Random pieces are almost never a valid file; a valid file with one more piece sometimes is.
                if random.oneIn(3) {
                    let piece = pieces[random.below(pieces.count)]
                    bytes = whole
                    bytes.insert(contentsOf: piece, at: random.below(whole.count + 1))
                }
                if random.oneIn(10) { bytes.append(0xff) }
                let rows: [OutlineRow]
                do throws(FormatError) {
                    rows = try readOutline(bytes, format, pieceBytes: 1 + random.below(20)).rows
                } catch {
                    #expect(error.line >= 1, "\(format), seed \(seed): \(error)")
                    continue
                }
                var depth = -1
                for row in rows {
                    #expect(row.depth <= depth + 1, "\(format), seed \(seed)")
                    depth = row.depth
                }
                rowCount += rows.count
                let written = try writeOutline(rows, .json).bytes
                #expect(try readOutline(written, .json).rows == rows, "\(format), seed \(seed)")
            }
            #expect(rowCount > 0, "\(format): no row was read")
        }
    }
}
