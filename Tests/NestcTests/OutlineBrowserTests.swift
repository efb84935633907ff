import NestDocuments
import NestModel
import NestTestSupport
import Testing

@testable import NestClient
@testable import nestc

/// What the screen shows of an outline, without a terminal and without a server.
@Suite struct OutlineBrowserTests {
    /// An outline as a server would hold it. The object n has the children 10 n + 1 … 10 n + width, down to `levels`.
    private struct Tree {
        var width = 3
        var levels = 3
        var source = ObjectID(1)
        var unfolded: Set<ObjectID> = []
        var isAll = false

        var rows: [(id: ObjectID, depth: Int, children: Int, isExpanded: Bool)] {
            var rows: [(id: ObjectID, depth: Int, children: Int, isExpanded: Bool)] = []
            func level(_ id: ObjectID) -> Int { "\(id)".count - 1 }
            func add(_ parent: ObjectID, _ depth: Int) {
                guard level(parent) < self.levels else { return }
                for number in 1...self.width {
                    let id = ObjectID(parent.rawValue * 10 + Int64(number))
                    let isExpanded = self.isAll != self.unfolded.contains(id)
                    rows.append((id, depth, level(id) < self.levels ? self.width : 0, isExpanded))
                    if isExpanded { add(id, depth + 1) }
                }
            }
            add(self.source, 0)
            return rows
        }

        func snapshot(_ window: FetchWindow) -> SectionedSnapshot? {
            let all = self.rows
            var range = 0..<0
            var anchor: ObjectID?
            switch window {
            case .range(let offset, let limit): range = min(offset, all.count)..<min(offset + limit, all.count)
            case .around(let id, let before, let after):
                guard let number = all.firstIndex(where: { $0.id == id }) else { return nil }
                range = max(number - before, 0)..<min(number + after + 1, all.count)
                anchor = id
            }
            let rows = all[range].map { row in
                Row(
                    id: row.id,
                    values: [
                        .string("item \(row.id)"),
                        .integer(Int64(row.isExpanded ? row.children : -1 - row.children)), .integer(Int64(row.depth)),
                    ]
                )
            }
            var snapshot = SectionedSnapshot(
                revision: Revision(7),
                projection: [PropertyNumber(1), .outlineChildren, .outlineDepth],
                sections: [ResultsSection(key: .string(""), rows: rows)]
            )
            snapshot.window = WindowPosition(
                total: all.count,
                sectionTotal: 1,
                start: WindowStart(row: range.lowerBound),
                anchor: anchor
            )
            return snapshot
        }
    }

    /// A browser with the tree's answers.
    private struct World {
        var tree: Tree
        var browser: OutlineBrowser
        var window: FetchWindow
        private var isFirst = true

        init(_ tree: Tree, rows: Int, columns: Int = 40) throws {
            let item = ManagedObjectModel.nestedList.entities[0]
            let source = FetchSource(object: tree.source, relationship: PropertyNumber(6))
            let text = OutlineText(
                RequestOptions.Resolved(
                    request: ObjectFetchRequest(entity: item.number, source: source),
                    model: .nestedList,
                    entity: item,
                    title: ""
                )
            )
            self.tree = tree
            self.browser = OutlineBrowser(
                text,
                below: tree.source,
                at: nil,
                TerminalScreen.Size(rows: rows, columns: columns)
            )
            self.browser.status = .live
            self.browser.path = ["#1"]
            self.window = self.browser.firstWindow
            try self.show()
        }

        /// Shows the tree in the last window, and in those that the browser asks for.
        mutating func show() throws {
            for _ in 0..<4 {
                let snapshot = try #require(self.tree.snapshot(self.window))
                let state = try #require(OutlineState(snapshot))
                // What the user asks for comes as a difference from a revision to the same one.
                let answer = ResultsDiff(from: state.revision, to: state.revision, total: state.total, digest: 0)
                let event = self.isFirst ? FetchedResultsChange.snapshot(.first) : .diff(answer)
                self.isFirst = false
                self.browser.note(OutlineChange(event, state, isAnswer: true), snapshot, source: self.tree.source)
                guard let window = self.browser.window(self.window) else { return }
                self.window = window
            }
            Issue.record("the browser asks for windows without end")
        }

        mutating func press(_ keys: TerminalKey...) throws {
            for key in keys {
                switch self.browser.press(key) {
                case .setExpanded(let id, _)?: self.tree.unfolded.formSymmetricDifference([id])
                case .expand(let isExpanded, let cursor)?:
                    (self.tree.isAll, self.tree.unfolded) = (isExpanded, [])
                    self.window = cursor.map { self.browser.firstWindow(around: $0) } ?? self.browser.firstWindow
                case .zoomIn(let id)?:
                    self.tree.source = id
                    self.window = self.browser.firstWindow
                    self.browser.path.append("#\(id)")
                case .zoomOut?:
                    let parent = ObjectID(self.tree.source.rawValue / 10)
                    self.browser.rise(from: self.tree.source, to: parent)
                    self.tree.source = parent
                    self.window = self.browser.firstWindow
                    self.browser.path.removeLast()
                case .foldAll(let id)?:
                    var row = id
                    while row.rawValue / 10 != self.tree.source.rawValue { row = ObjectID(row.rawValue / 10) }
                    (self.tree.isAll, self.tree.unfolded) = (false, [])
                    self.browser.go(to: row)
                    self.window = self.browser.firstWindow(around: row)
                case .parent(let id)?: self.browser.go(to: ObjectID(id.rawValue / 10))
                case .quit?, .pause?, .resume?, .search?, nil: break
                }
                if let window = self.browser.window(self.window) { self.window = window }
                if self.tree.snapshot(self.window) == nil {
                    self.window = .range(offset: 0, limit: 200)
                }
                try self.show()
            }
        }

        var lines: [String] { self.browser.frame().lines.map(\.text) }
        /// The ids of the rows on the screen, with `*` at the cursor.
        var shown: [String] {
            self.lines.dropFirst(2).dropLast().filter { $0 != "" }.map { line in
                (line.hasPrefix("*") ? "*" : "") + (line.split(separator: "#").last.map(String.init) ?? "")
            }
        }
    }

    @Test func rowsAreIndentedBetweenThePathAndTheKeys() throws {
        var world = try World(Tree(levels: 2), rows: 8, columns: 60)
        try world.press(.right)
        #expect(
            world.lines == [
                "children of 1  rows 1–5 of 6  revision 7  live", "#1", "*   ▾ item 11  #11", "      · item 111  #111",
                "      · item 112  #112", "      · item 113  #113", "    ▸ item 12 (3)  #12",
                "↑ ↓  → ← unfold, fold  Enter u zoom  ? help  q quit",
            ]
        )
    }

    @Test func anOutlineWithoutRowsSaysSo() throws {
        var world = try World(Tree(levels: 1), rows: 8)
        try world.press(.enter)
        #expect(world.lines[2] == "    nothing is below this object")
        try world.press(.character(" "), .right, .left, .end, .enter, .character("u"))
        #expect(world.shown == ["*11", "12", "13"])
    }

    /// A window that was requested before a zoom is refused after it.
    @Test func aRefusedWindowDoesNotEndAZoom() throws {
        var world = try World(Tree(), rows: 8)
        let order = world.browser.press(.enter)
        #expect(order == .zoomIn(ObjectID(11)))
        world.browser.giveUpWindow("that row is not shown any more")
        world.tree.source = ObjectID(11)
        world.window = world.browser.firstWindow
        try world.show()
        #expect(world.shown == ["*111", "112", "113"] && world.browser.source == ObjectID(11))
    }

    /// Keys that need the server do nothing during a pause and without a connection, so that nothing happens later that
    /// the user has forgotten.
    @Test func keysThatNeedTheServerAreRefusedWhenItCannotBeAsked() throws {
        let keys: [TerminalKey] = [.right, .character(" "), .enter, .character("*"), .character("-")]
        var world = try World(Tree(), rows: 8)
        #expect(world.browser.press(.character("p")) == .pause)
        let frame = world.lines
        for key in keys {
            #expect(world.browser.press(key) == nil && world.lines.last == "paused: p goes on", "\(key)")
            #expect(world.lines.dropLast() == frame.dropLast(), "\(key)")
        }
        #expect(world.browser.press(.character("p")) == .resume)
        world.browser.status = .reconnecting
        for key in keys {
            #expect(world.browser.press(key) == nil && world.lines.last == "no connection: try again later", "\(key)")
        }
        world.browser.status = .live
        try world.press(.right)
        #expect(world.shown == ["*11", "111", "112", "113", "12"])
    }

    /// Until the answer to a key arrives, the screen keeps its rows.
    @Test func theScreenKeepsItsRowsUntilTheAnswerArrives() throws {
        var tree = Tree(width: 9, levels: 4)
        tree.isAll = true
        var world = try World(tree, rows: 10)
        for _ in 0..<12 { try world.press(.pageDown) }
        let before = world.shown
        #expect(before.count == 7)
        let order = world.browser.press(.enter)
        #expect(order != nil && world.shown == before)
        world.browser.giveUp("no")
        #expect(world.shown == before)
        // A page that is not held.
        for _ in 0..<9 { _ = world.browser.press(.pageDown) }
        #expect(world.shown.count == 7)
        world.browser.giveUp("no")
        #expect(world.shown.count { $0.hasPrefix("*") } == 1)
    }

    /// All is folded far below the row at the top level that the cursor is below.
    @Test func foldingAllKeepsTheRowAtTheTopLevel() throws {
        var tree = Tree(width: 9, levels: 4)
        tree.isAll = true
        var world = try World(tree, rows: 10)
        try world.press(.end, .pageUp, .pageUp, .pageUp, .pageUp, .pageUp, .pageUp, .pageUp, .pageUp)
        #expect(world.browser.cursor.map { "\($0)".hasPrefix("199") } == true)
        try world.press(.character("-"))
        #expect(world.shown.contains("*19") && world.shown.count == 7)
    }

    @Test func theHeaderSaysThatAnAnswerIsAwaited() throws {
        var world = try World(Tree(), rows: 8, columns: 60)
        world.browser.isWaiting = true
        #expect(world.lines[0] == "children of 1  3 rows  revision 7  loading")
    }

    @Test func rightGoesInAndLeftGoesOut() throws {
        var world = try World(Tree(), rows: 12)
        try world.press(.right, .right, .right, .right)
        #expect(world.shown == ["11", "111", "*1111", "1112", "1113", "112", "113", "12", "13"])
        try world.press(.left)
        #expect(world.shown[1] == "*111")
        try world.press(.left)
        #expect(world.shown == ["11", "*111", "112", "113", "12", "13"])
        try world.press(.left, .left)
        #expect(world.shown == ["*11", "12", "13"])
    }

    /// The parent of the cursor's row is far above the window.
    @Test func leftFindsAParentThatIsNotHeld() throws {
        var tree = Tree(width: 9, levels: 4)
        tree.isAll = true
        var world = try World(tree, rows: 6)
        try world.press(.end)
        #expect(world.shown.last == "*19999")
        for parent in ["*1999", "*199", "*19"] {
            // A leaf goes to its parent; an unfolded row folds first.
            try world.press(.left)
            if !world.shown.contains(parent) { try world.press(.left) }
            #expect(world.shown.contains(parent), "\(world.shown)")
        }
    }

    @Test func zoomingInAndOutKeepsTheRow() throws {
        var world = try World(Tree(), rows: 8)
        try world.press(.down, .enter)
        #expect(world.shown == ["*121", "122", "123"] && world.lines[1] == "#1 › #12")
        try world.press(.down, .enter)
        #expect(world.shown == ["*1221", "1222", "1223"])
        try world.press(.character("u"))
        #expect(world.shown == ["121", "*122", "123"])
        try world.press(.backspace)
        #expect(world.shown == ["11", "*12", "13"])
        try world.press(.character("u"))
        #expect(world.lines.last == "this is the top")
    }

    @Test func everythingUnfoldsAndFolds() throws {
        var world = try World(Tree(), rows: 50)
        try world.press(.down, .character("*"))
        #expect(world.shown.count == 39 && world.shown.contains("*12"))
        try world.press(.down, .down, .character("-"))
        #expect(world.shown == ["11", "*12", "13"])
    }

    /// The cursor goes to a row that is folded over its own, and to the row in the place of one that was deleted.
    @Test func theCursorGoesToTheNextRowWhenItsOwnIsGone() throws {
        var world = try World(Tree(), rows: 12)
        try world.press(.right, .right, .right, .right)
        world.tree.unfolded.remove(ObjectID(11))
        world.window = .range(offset: 0, limit: 50)
        try world.show()
        #expect(world.shown == ["*11", "12", "13"])
        try world.press(.down, .down)
        world.tree.width = 2
        world.window = .range(offset: 0, limit: 50)
        try world.show()
        #expect(world.shown.last == "*12")
    }

    /// Random keys: the cursor is on the screen, its object is that of its row, and frames fit.
    @Test func anyKeysLeaveTheCursorOnTheScreen() throws {
        let keys: [TerminalKey] = [
            .up, .down, .left, .right, .pageUp, .pageDown, .home, .end, .enter, .backspace, .character(" "),
            .character("*"), .character("-"), .character("u"), .character("?"), .character("p"), .escape,
        ]
        for seed in 0..<100 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let tree = Tree(width: 1 + random.below(9), levels: 1 + random.below(3))
            var world = try World(tree, rows: 4 + random.below(20), columns: 20 + random.below(60))
            for _ in 0..<40 {
                try world.press(keys.randomElement(using: &random)!)
                let size = world.browser.size
                #expect(world.lines.count == size.rows, "seed \(seed)")
                #expect(world.lines.allSatisfy { DisplayWidth.of($0) <= size.columns }, "seed \(seed)")
                guard !world.lines[0].hasPrefix("Keys"), world.browser.frame().lines[0].text != "" else { continue }
                let rows = world.tree.rows
                guard !rows.isEmpty, !world.lines.contains(where: { $0.hasPrefix("Marks") }) else { continue }
                let cursor = try #require(world.browser.cursor, "seed \(seed)")
                #expect(rows.contains { $0.id == cursor }, "seed \(seed)")
                guard world.lines.last?.hasPrefix("↑ ↓ scroll") != true else { continue }
                #expect(world.lines.count { $0.hasPrefix("*") } == 1, "seed \(seed): \(world.lines)")
            }
        }
    }
}
