import NestModel
import NestTestSupport
import Testing

@testable import nestc

/// The first line of the screen, at every width.
@Suite struct HeaderLineTests {
    private static func header(
        _ title: String,
        _ rows: Range<Int>,
        of total: Int,
        revision: UInt64 = 11,
        status: ListStatus = .live,
        counts: [StyledText] = [StyledText("+1", .green)]
    ) -> HeaderLine {
        HeaderLine(
            title: title,
            rows: rows,
            total: total,
            sectionTotal: 3,
            revision: Revision(revision),
            status: status,
            counts: counts
        )
    }

    @Test func wordsBecomeShorterIfColumnsAreFew() {
        let header = Self.header("children of 1", 0..<20, of: 2_003)
        let lines = [80, 60, 44, 40, 36, 30].map { header.line(columns: $0).text }
        #expect(
            lines == [
                "children of 1  rows 1–20 of 2,003  3 sections  revision 11  live  +1",
                "children of 1  rows 1–20 of 2,003  revision 11  live  +1",
                "children of 1  1–20 of 2,003  r11  live  +1",
                "children …  1–20 of 2,003  r11  live  +1", "children of…  1/2,003  r11  live  +1",
                "children …  1/2,003  r11  live",
            ]
        )
    }

    /// The state and the revision are visible at 40 columns, and no line is longer than the screen.
    @Test func theStateIsVisibleAtFortyColumns() {
        let titles = ["x", "children of 1", "日本語のタイトルはとても長い", String(repeating: "long ", count: 20)]
        for title in titles {
            for status in ListStatus.allCases {
                for (rows, total) in [(0..<0, 0), (0..<1, 1), (0..<20, 2_003), (99_980..<100_000, 100_000)] {
                    let header = Self.header(title, rows, of: total, revision: 12_345, status: status)
                    for columns in 20...200 {
                        let line = header.line(columns: columns)
                        #expect(DisplayWidth.of(line.text) <= columns, "\(line.text)")
                        guard columns >= 40 else { continue }
                        #expect(line.text.contains(status.rawValue) && line.text.contains("12345"), "\(line.text)")
                    }
                }
            }
        }
    }
}
