import NestDocuments
import NestModel
import NestTestSupport
import Testing

@testable import nestc

/// What the screen shows of a list, without a terminal.
@Suite struct ListBrowserTests {
    private static let titles = [
        "Milk", "日本語のタイトルはとても長い", "👩‍👩‍👧 family", "e\u{301}te\u{301}", "a\u{1b}[2Jb", "line\nbreak", "",
        String(repeating: "long ", count: 40), "\u{202e}txet",
    ]

    private static func text(_ properties: [PropertyNumber] = []) -> ListText {
        let model = ManagedObjectModel.nestedList
        let item = model.entities[0]
        let source = FetchSource(object: ObjectID(1), relationship: PropertyNumber(6))
        let request = ObjectFetchRequest(entity: item.number, source: source)
        return ListText(
            RequestOptions.Resolved(
                request: request,
                model: model,
                entity: item,
                properties: properties,
                title: "children of 1"
            )
        )
    }

    /// Returns a window of a list whose row with the number n has the id n + 100.
    private static func state(_ total: Int, _ window: FetchWindow, _ title: (Int) -> String) -> SectionedSnapshot {
        var range = 0..<0
        switch window {
        case .range(let offset, let limit): range = min(offset, total)..<min(offset + limit, total)
        case .around(let id, let before, let after):
            let number = Int(id.rawValue) - 100
            range = max(number - before, 0)..<min(number + after + 1, total)
        }
        let rows = range.map { number in
            Row(
                id: ObjectID(Int64(number + 100)),
                values: [.string(title(number)), .boolean(false), .reference(ObjectID(1))]
            )
        }
        var snapshot = SectionedSnapshot(
            revision: Revision(7),
            projection: [PropertyNumber(1), PropertyNumber(3), PropertyNumber(5)],
            sections: [ResultsSection(key: .string(""), rows: rows)]
        )
        snapshot.window = WindowPosition(total: total, sectionTotal: 1, start: WindowStart(row: range.lowerBound))
        return snapshot
    }

    private static func browser(
        _ total: Int,
        _ rows: Int,
        _ columns: Int,
        _ title: (Int) -> String = { "item \($0)" }
    ) -> ListBrowser {
        var browser = ListBrowser(Self.text(), nil, TerminalScreen.Size(rows: rows, columns: columns))
        browser.status = .live
        browser.note(snapshot: Self.state(total, .range(offset: 0, limit: total), title), isAnswer: true)
        return browser
    }

    private static func lines(_ browser: inout ListBrowser) -> [String] { browser.frame().lines.map(\.text) }

    @Test func rowsAreATableBetweenHeaderAndFooter() {
        var browser = Self.browser(3, 7, 80)
        #expect(
            Self.lines(&browser) == [
                "children of 1  3 rows  revision 7  live", "    id   title   done", "    100  item 0  no",
                "    101  item 1  no", "    102  item 2  no", "",
                "↑ ↓ PgUp PgDn Home End  / find  n next  p pause  ? help  q quit",
            ]
        )
    }

    /// The id and the last value stay visible beside a long title.
    @Test(arguments: [24, 40, 80]) func aLongTitleIsCut(_ columns: Int) {
        var browser = Self.browser(2, 6, columns) { _ in Self.titles[7] + Self.titles[1] }
        let lines = Self.lines(&browser)
        for (line, id) in zip(lines[2...3], ["100", "101"]) {
            #expect(line.contains(id) && line.contains("…") && line.hasSuffix("no"), "\(line)")
            #expect(DisplayWidth.of(line) <= columns)
        }
    }

    /// With any size, keys and values, no line is wider than the screen, and no control character passes.
    @Test func framesAreNoLargerThanTheirSize() {
        let keys: [TerminalKey] = [
            .up, .down, .pageUp, .pageDown, .home, .end, .enter, .escape, .backspace, .character("/"),
            .character("?"), .character("n"), .character("N"), .character("p"), .character("x"), .character("日"),
        ]
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let total = random.below(60)
            var browser = Self.browser(total, 1 + random.below(30), 1 + random.below(100)) {
                Self.titles[$0 % Self.titles.count]
            }
            for _ in 0..<40 {
                if random.below(5) == 0 {
                    browser.size = TerminalScreen.Size(rows: 1 + random.below(30), columns: 1 + random.below(100))
                }
                if let order = browser.press(keys.randomElement(using: &random)!), order == .search {
                    let number = random.below(max(total, 1))
                    let hit = RowSearch.Hit(id: ObjectID(Int64(number + 100)), number: number, isWrapped: false)
                    browser.found(total > 0 ? hit : nil)
                }
                if let window = browser.window(nil) {
                    let state = Self.state(total, window) { Self.titles[$0 % Self.titles.count] }
                    browser.note(snapshot: state, isAnswer: true)
                }
                let (frame, size) = (browser.frame(), browser.size)
                #expect(frame.lines.count <= size.rows, "seed \(seed)")
                for line in frame.lines {
                    #expect(DisplayWidth.of(line.text) <= size.columns, "seed \(seed): \(line.text)")
                    #expect(EscapedText.message(line.text) == line.text, "seed \(seed)")
                }
            }
        }
    }

    @Test func columnsThatWereNotRequestedAppearWithTheirFirstValue() {
        var columns = ListColumns(["id", "title", "note", "parent"], isChosen: false, hidden: "parent")
        columns.note(["2", "Milk", "", "1"])
        #expect(columns.header(60).map(\.text) == ["id", "title"])
        columns.note(["3", "Bread", "rye", "1"])
        #expect(columns.header(60).map(\.text) == ["id", "title", "note"])
        #expect(columns.cells(["2", "Milk", "", "1"], 60).map(\.text) == ["2", "Milk"])
        var chosen = ListColumns(["id", "note"], isChosen: true)
        chosen.note(["2", ""])
        #expect(chosen.header(60).map(\.text) == ["id", "note"])
    }

    @Test func theHelpPageFitsFortyColumns() {
        for line in HelpPage.list.lines + HelpPage.outline.lines {
            #expect(DisplayWidth.of(line.text) <= 40, "\(line.text)")
        }
    }

    @Test func aPauseSaysWhyOtherRowsDoNotCome() {
        var browser = Self.browser(0, 8, 60)
        browser.note(snapshot: Self.state(500, .range(offset: 0, limit: 30)) { "item \($0)" }, isAnswer: true)
        #expect(browser.press(.character("p")) == .pause)
        #expect(browser.press(.end) == nil)
        #expect(Self.lines(&browser).last?.contains("paused") == true)
        #expect(browser.press(.character(" ")) == .resume)
    }

    @Test func searchKeysOrderASearch() {
        var browser = Self.browser(50, 10, 60)
        #expect(browser.press(.character("n")) == nil)
        #expect(Self.lines(&browser).last == "type / and a text first")
        for key in "/ite" { #expect(browser.press(.character(key)) == nil) }
        let frame = browser.frame()
        #expect(frame.lines.last?.text == "/ite" && frame.cursor == ScreenFrame.Place(row: 9, column: 4))
        #expect(browser.press(.escape) == nil && browser.search == nil)
        for key in "/iten" { #expect(browser.press(.character(key)) == nil) }
        #expect(browser.press(.backspace) == nil)
        #expect(browser.press(.enter) == .search)
        #expect(browser.search == RowSearch(text: "ite", direction: .forward, start: 0))
        browser.found(RowSearch.Hit(id: ObjectID(103), number: 3, isWrapped: false))
        #expect(Self.lines(&browser)[5].hasPrefix("*   103"))
        #expect(browser.press(.character("n")) == .search && browser.search?.start == 4)
        browser.found(nil)
        #expect(Self.lines(&browser).last == "no row shows “ite”")
        #expect(browser.press(.character("N")) == .search && browser.search?.start == 2)
        // Another key ends the search.
        #expect(browser.press(.down) == nil && browser.search == nil)
        #expect(browser.press(.escape) == nil)
        #expect(Self.lines(&browser).allSatisfy { !$0.hasPrefix("*") })
    }

    @Test func anotherRowTakesThePlaceOfAFollowedOne() {
        var browser = ListBrowser(
            Self.text(),
            .around(ObjectID(120), before: 2, after: 2),
            TerminalScreen.Size(rows: 8, columns: 60)
        )
        let state = Self.state(50, .around(ObjectID(120), before: 15, after: 15)) { "item \($0)" }
        browser.note(snapshot: state, isAnswer: true)
        #expect(Self.lines(&browser)[4].hasPrefix("*   120"))
        // Not the followed object: nothing changes.
        browser.note(anchor: ObjectID(121), insteadOf: ObjectID(119))
        #expect(Self.lines(&browser)[4].hasPrefix("*   120"))
        browser.note(anchor: ObjectID(121), insteadOf: ObjectID(120))
        #expect(Self.lines(&browser).last == "#120 has left the list; #121 took its place")
        #expect(Self.lines(&browser)[4].hasPrefix("*   121"))
    }
}
