import NestDocuments
import NestModel
import NestTestSupport
import Testing
import NestProtocol

@Suite struct OutlineFormatTests {
    @Test(arguments: [
        ("<?xml version='1.0'?><opml/>", OutlineFormat.opml), ("\u{feff}\n<opml>", .opml), ("< 3", .text),
        ("[{\"title\":\"a\"}]", .json), ("[\n ]", .json), ("[x] task", .text),
        ("{\"title\":\"a\",\"children\":[]}", .json),
        ("{\n\"title\":", .json), ("{\"title\":\"a\"}\n{\"title\":\"b\"}", .jsonl), ("level,title\n0,a", .csv),
        ("id;parent;name", .csv), ("title\tnote\n", .tsv), ("Hello, name", .text), ("title", .text), ("- a\n", .md),
        ("# a\n", .md), ("* [ ] a", .md), ("1. a", .text), ("a\n\tb", .text), ("", .text),
        ("#+TITLE: a\n", .org), ("* TODO a\n", .org), ("** DONE\n", .org), ("#+", .text), ("- TODO a", .md),
    ])
    func theFormatIsGuessedFromTheContent(_ text: String, _ format: OutlineFormat) {
        #expect(OutlineFormat(guessing: Array(text.utf8)) == format)
    }

    @Test func theFormatIsGuessedFromTheFileName() {
        let names = ["a.opml", "b.MD", "c.tar.json", "d.ndjson", "e.csv", "f.tab", "g.txt", "h", "i.doc"]
        #expect(names.map { OutlineFormat(fileName: $0) } == [.opml, .md, .json, .jsonl, .csv, .tsv, .text, nil, nil])
        #expect(["a.org", "b.TaskPaper"].map { OutlineFormat(fileName: $0) } == [.org, .taskpaper])
    }

    /// A written file of each format is guessed as that format, but not where its first line is also Markdown.
    @Test func writtenFilesAreRecognised() throws {
        let rows = [OutlineRow(depth: 0, title: "Milk", note: "n"), OutlineRow(depth: 1, title: "Oat")]
        let others: [OutlineFormat] = [.org, .taskpaper, .workflowy, .dynalist]
        for format in OutlineFormat.allCases where !others.contains(format) {
            #expect(OutlineFormat(guessing: try writeOutline(rows, format).bytes) == format)
        }
    }

    @Test func textWarnsAboutOmissions() throws {
        let rows = [
            OutlineRow(depth: 0, title: "a", note: "n", done: true, extra: "{}"),
            OutlineRow(depth: 0, title: "b", done: true),
        ]
        #expect(
            try writeOutline(rows, .text).warnings == [
                "done marks left out (text holds titles): 2", "items whose extra was left out (text holds titles): 1",
                "notes left out (text holds titles): 1",
            ]
        )
    }

    /// Writes and reads a hundred thousand levels on a small stack. The size of the formats of lines grows with the
    /// square of the depth, so these have a few thousand.
    @Test(arguments: [
        (OutlineFormat.opml, 100_000), (.json, 100_000), (.jsonl, 100_000), (.csv, 100_000), (.tsv, 100_000),
        (.md, 2_000), (.text, 3_000), (.org, 3_000), (.taskpaper, 3_000), (.workflowy, 2_000), (.dynalist, 1_000),
    ])
    func deepOutlinesNeedNoDeepStack(_ format: OutlineFormat, _ levels: Int) throws {
        let titles = try onSmallStack { () throws -> [OutlineRow] in
            let rows = (0..<levels).map { OutlineRow(depth: $0, title: "\($0)") }
            let bytes = try writeOutline(rows, format).bytes
            return try readOutline(bytes, format, pieceBytes: 1 << 16).rows
        }
        #expect(titles.count == levels)
        #expect(titles.enumerated().allSatisfy { $1.depth == $0 && $1.title == "\($0)" })
    }

    /// Reads a chain of a hundred thousand items, in which each item precedes its parent.
    @Test func chainsOfParentsNeedNoDeepStack() throws {
        let depths = try onSmallStack { () throws -> [Int] in
            let lines = (0..<100_000).map {
                "{\"id\":\($0),\"parent\":\($0 == 99_999 ? "null" : "\($0 + 1)"),\"title\":\"\"}"
            }
            return try readOutline(Array(lines.joined(separator: "\n").utf8), .jsonl).rows.map(\.depth)
        }
        #expect(depths == Array(0..<100_000))
    }

    @Test(arguments: [OutlineFormat.md, .org, .taskpaper, .workflowy, .dynalist])
    func formatsWithMarksOfDepthLimitIt(_ format: OutlineFormat) throws {
        #expect(format.levelsMax == 10_000)
        var writer = format.writer()
        do throws(FormatError) {
            for depth in 0...10_000 {
                try writer.write(OutlineRow(depth: depth, title: "a"))
                _ = writer.take()
            }
            Issue.record("10,001 levels were written")
        } catch {
            #expect(error.message.contains("jsonl"), "\(error)")
        }
    }
}
