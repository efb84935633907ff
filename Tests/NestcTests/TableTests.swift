import NestDocuments
import NestTestSupport
import Testing

@testable import nestc

/// Tables on terminals of any width.
@Suite struct TableTests {
    @Test(arguments: [
        ([4, 10, 3], 40, [4, 10, 3]), ([4, 30, 3], 20, [4, 9, 3]), ([4, 30, 30], 21, [4, 7, 6]),
        ([4, 30, 3], 14, [4, 5]), ([4, 30, 3], 6, [4]), ([9, 30], 5, [5]), ([], 10, []),
    ])
    func widestColumnsAreCutFirst(_ natural: [Int], _ room: Int, _ widths: [Int]) {
        #expect(ColumnWidths.fit(natural, in: room) == widths)
    }

    /// The columns fit, the first one is whole, none is wider than its values, and no room is left while one is cut.
    @Test func columnsUseTheRoom() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let natural = (0..<1 + random.below(8)).map { _ in 1 + random.below(30) }
            let room = 1 + random.below(120)
            let widths = ColumnWidths.fit(natural, in: room)
            let used = widths.reduce(0, +) + ColumnWidths.gap * (widths.count - 1)
            #expect(used <= room && !widths.isEmpty, "seed \(seed)")
            #expect(widths[0] == min(natural[0], room), "seed \(seed)")
            #expect(zip(widths, natural).allSatisfy { $0 <= $1 }, "seed \(seed)")
            if widths.count == natural.count, widths != natural { #expect(used == room, "seed \(seed)") }
        }
    }

    @Test func cellsArePaddedByDisplayWidth() {
        let table = TextTable(
            header: ["id", "title", "done"],
            rows: [["2", "日本語のタイトル", "no"], ["3", "🙂 e\u{301}", "yes"], ["7", "plain\u{1b}[2J", ""]]
        )
        #expect(
            table.lines(columns: 80, Output()) == [
                "id  title             done", "2   日本語のタイトル  no", "3   🙂 e\u{301}              yes",
                "7   plain\\u{1b}[2J    ",
            ]
        )
    }

    @Test func aNarrowTableIsCutAndSaysSo() {
        let table = TextTable(header: ["id", "title", "done"], rows: [["2", "日本語のタイトル", "no"]])
        #expect(table.lines(columns: 20, Output()) == ["id  title       done", "2   日本語の…   no"])
        #expect(table.lines(columns: 13, Output()) == ["id  title  …", "2   日本…"])
        for columns in 1..<40 {
            for line in table.lines(columns: columns, Output()) { #expect(DisplayWidth.of(line) <= columns) }
        }
    }

    @Test func countsHaveSeparatorsAndTheRightNumber() {
        #expect(
            Counted.text(1, "row", isGrouped: true) == "1 row" && Counted.text(0, "row", isGrouped: true) == "0 rows"
        )
        #expect(
            Counted.text(2_000, "section", isGrouped: true) == "2,000 sections"
                && Counted.grouped(1_234_567) == "1,234,567"
        )
        #expect(CountText.rows(100..<120, of: 2_000) == "rows 101–120 of 2,000")
        #expect(CountText.rows(4..<5, of: 2_000) == "row 5 of 2,000")
        #expect(CountText.rows(0..<2_000, of: 2_000) == "2,000 rows" && CountText.rows(0..<1, of: 1) == "1 row")
        #expect(CountText.rows(7..<7, of: 3) == "none of 3 rows")
    }
}
