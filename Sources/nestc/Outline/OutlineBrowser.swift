import NestClient
import NestDocuments
import NestModel

/// What the terminal shows of an outline, and what its keys do: state and size in, lines and orders out. It does no
/// I/O.
///
/// The cursor is on an object and stays on it wherever the outline puts it. If the object goes, the cursor goes to the
/// row that was folded over it, or else to the row in its place. A key that leads to a row that is not held sets a
/// goal: the screen keeps its rows until the goal arrives.
struct OutlineBrowser {
    private enum Mode: Equatable {
        case list
        /// The user types the text to find.
        case typing(String)
        /// The help page, from this line on.
        case help(Int)
    }

    private enum Goal: Equatable {
        case row(Int)
        case object(ObjectID)
    }

    private let text: OutlineText
    private var mode = Mode.list
    private var state: OutlineState?
    private(set) var cursor: ObjectID?
    /// The number of the cursor's row in the whole outline, and of the first row on the screen.
    private var row = 0
    private var top = 0
    private var goal: Goal?
    /// The first row on the screen when the goal arrives; `nil`: as near as possible to that of now.
    private var goalTop: Int?
    /// The object below which the outline was requested, until its rows arrive.
    private var awaitedSource: ObjectID?
    private(set) var source: ObjectID
    private var marks = ChangeMarks()
    private var revision = Revision(0)
    /// The titles of the objects from the top of the hierarchy down to the one that the outline is below.
    var path: [String] = []
    private(set) var search: RowSearch?
    private var foundText = ""
    private var message: String?
    private var isPaused = false
    var status = ListStatus.connecting
    var people = ShownPeople()
    /// Whether the server has not answered an order for some time.
    var isWaiting = false
    /// Whether keys can be pressed: standard input is a terminal.
    var hasKeys = true
    var size: TerminalScreen.Size { didSet { self.scrollToCursor() } }

    init(_ text: OutlineText, below source: ObjectID, at window: FetchWindow?, _ size: TerminalScreen.Size) {
        self.text = text
        self.source = source
        self.size = size
        switch window {
        case .around(let id, _, _)?: self.goal = .object(id)
        case .range(let offset, _)?: self.goal = .row(offset)
        case nil: self.goal = .row(0)
        }
    }

    /// The lines for rows: without the header, the path and the footer.
    private var room: Int { max(self.size.rows - 3, 1) }
    private static let textMax = 200
    private static let nothingBelow = "nothing is below this row"
    /// The screens that are requested on each side of the cursor, so that scrolling is immediate.
    private static let screensAhead = 3

    var total: Int { self.state?.total ?? 0 }

    // MARK: State

    mutating func note(_ change: OutlineChange, _ snapshot: SectionedSnapshot, source: ObjectID) {
        let isAnswer = source != self.source
        switch change.event {
        // What folds, zooms and scrolls show is not new.
        case .diff where isAnswer || change.isAnswer:
            self.marks.note(snapshot: snapshot, isAnswer: true)
        case .diff(let diff): self.marks.note(diff, snapshot, isAnswer: false)
        case .snapshot: self.marks.note(snapshot: snapshot, isAnswer: isAnswer)
        case .position(let position): self.marks.note(position)
        case .progress(let revision), .resumed(let revision): self.revision = revision
        case .totals, .reset, .disconnected, .paused: return
        }
        self.revision = max(self.revision, change.state.revision)
        self.source = source
        if self.awaitedSource == source { self.awaitedSource = nil }
        self.hold(change.state)
    }

    private mutating func hold(_ new: OutlineState) {
        let old = self.state
        let line = self.row - self.top
        self.state = new
        if self.awaitedSource == nil, let index = self.goalIndex(new) {
            self.arrive(index, new)
        } else if let cursor, let index = new.index(of: cursor) {
            self.put(index, new)
            self.top = self.row - line
        } else if self.goal == nil {
            let above = old.flatMap { self.rowAbove($0, new) }
            if let index = above ?? new.rows.indices.last.map({ min(max(self.row - new.start, 0), $0) }) {
                self.put(index, new)
            } else {
                self.cursor = nil
            }
        }
        self.scrollToCursor()
    }

    private func goalIndex(_ state: OutlineState) -> Int? {
        switch self.goal {
        case .object(let id)?: return state.index(of: id)
        case .row(let number)?:
            let index = min(number, state.total - 1) - state.start
            return state.rows.indices.contains(index) && self.holdsGoalPage(state) ? index : nil
        case nil: return nil
        }
    }

    /// Whether all rows of the page that the goal brings are held.
    private func holdsGoalPage(_ state: OutlineState) -> Bool {
        guard let goalTop else { return true }
        let top = max(min(goalTop, state.total - self.room), 0)
        return top >= state.start && min(top + self.room, state.total) <= state.start + state.rows.count
    }

    /// Returns the index in the new state of the row that is folded now, and was above the cursor's object. `nil`: the
    /// object is hidden for another reason, because it was deleted, for example.
    private func rowAbove(_ old: OutlineState, _ new: OutlineState) -> Int? {
        guard let cursor, var index = old.index(of: cursor) else { return nil }
        while let parent = old.parentIndex(ofRowAt: index) {
            if let found = new.index(of: old.rows[parent].id) { return new.rows[found].isExpanded ? nil : found }
            index = parent
        }
        return nil
    }

    private mutating func put(_ index: Int, _ state: OutlineState) {
        self.cursor = state.rows[index].id
        self.row = state.start + index
    }

    /// Puts the cursor on the row of the goal.
    private mutating func arrive(_ index: Int, _ state: OutlineState) {
        self.goal = nil
        self.put(index, state)
        self.top = self.goalTop ?? self.top
        self.goalTop = nil
    }

    private mutating func scrollToCursor() {
        self.top = min(max(self.top, self.row - self.room + 1), self.row)
        self.top = max(min(self.top, self.total - self.room), 0)
    }

    mutating func say(_ message: String?) { self.message = message }

    /// The server has refused what leads to the goal.
    mutating func giveUp(_ message: String) {
        self.message = message
        (self.goal, self.goalTop, self.awaitedSource) = (nil, nil, nil)
        self.scrollToCursor()
    }

    /// The server has refused a window. If the outline is now requested below another object, the window no longer
    /// matters.
    mutating func giveUpWindow(_ message: String) {
        if self.awaitedSource == nil { self.giveUp(message) }
    }

    // MARK: The window

    /// The first window to request.
    var firstWindow: FetchWindow {
        switch self.goal {
        case .object(let id)?: .around(id, before: self.ahead, after: self.ahead)
        case .row(let number)?: .range(offset: max(number - self.ahead, 0), limit: 2 * self.ahead + 1)
        case nil: .range(offset: 0, limit: 2 * self.ahead + 1)
        }
    }

    /// The window that brings the cursor to an object.
    func firstWindow(around object: ObjectID) -> FetchWindow {
        .around(object, before: self.ahead, after: self.ahead)
    }

    private var ahead: Int { min(self.room * Self.screensAhead, (Limits.outlineWindowRowsMax - 1) / 2) }

    /// Returns the window to request instead of `current`, or `nil` if it suffices.
    func window(_ current: FetchWindow?) -> FetchWindow? {
        guard self.awaitedSource == nil, let state else { return nil }
        let wanted: FetchWindow
        switch self.goal {
        case .object?: wanted = self.firstWindow
        case .row(let number)?:
            let first = max(min(number, state.total - 1) - self.ahead, 0)
            wanted = .range(offset: first, limit: 2 * self.ahead + 1)
        case nil:
            guard let cursor else { return nil }
            let needed = max(self.top - self.room, 0)..<max(min(self.top + 2 * self.room, state.total), 0)
            let isHeld = state.start <= needed.lowerBound && state.start + state.rows.count >= needed.upperBound
            // A window by rows does not follow the cursor's object.
            if isHeld, case .around? = current { return nil }
            wanted = .around(cursor, before: self.ahead, after: self.ahead)
        }
        return wanted == current ? nil : wanted
    }

    // MARK: Keys

    mutating func press(_ key: TerminalKey) -> Order? {
        switch self.mode {
        case .list: return self.pressInList(key)
        case .typing(let text): return self.pressInPrompt(key, text)
        case .help(let top):
            self.mode = HelpPage.outline.press(key, top, rows: self.size.rows).map(Mode.help) ?? .list
            return nil
        }
    }

    private mutating func pressInList(_ key: TerminalKey) -> Order? {
        // A running search ends.
        self.search = nil
        self.message = nil
        if let scroll = ScrollKey(key), key != .enter {
            self.move(scroll)
            return nil
        }
        switch key {
        case .character("q"): return .quit
        case .character("?"): self.mode = .help(0)
        case .character("/"): self.mode = .typing("")
        case .character("n"): return self.find(.forward)
        case .character("N"): return self.find(.backward)
        case .character("p"):
            self.isPaused.toggle()
            return self.isPaused ? .pause : .resume
        case .character("*"): return self.expand(true)
        case .character("-"): return self.expand(false)
        case .backspace, .character("u"): return self.zoomOut()
        case .right, .character("l"): return self.unfold()
        case .left, .character("h"): return self.foldOrRise()
        case .character(" "): return self.toggle()
        case .enter: return self.current.flatMap { self.zoomIn($0.id) }
        default: break
        }
        return nil
    }

    /// The cursor's row.
    private var current: OutlineState.Row? {
        guard let state, let cursor, let index = state.index(of: cursor) else { return nil }
        return state.rows[index]
    }

    private mutating func move(_ key: ScrollKey) {
        let from = if case .row(let number)? = self.goal { number } else { self.row }
        let top = self.goalTop ?? self.top
        self.goalTop = nil
        switch key {
        case .up: self.go(to: from - 1)
        case .down: self.go(to: from + 1)
        case .pageUp:
            self.goalTop = top - self.room
            self.go(to: from - self.room)
        case .pageDown:
            self.goalTop = top + self.room
            self.go(to: from + self.room)
        case .home: self.go(to: 0)
        case .end: self.go(to: self.total - 1)
        }
    }

    private mutating func go(to number: Int) {
        guard let state, state.total > 0 else { return }
        let number = min(max(number, 0), state.total - 1)
        self.goal = .row(number)
        if let index = self.goalIndex(state) {
            self.arrive(index, state)
            self.scrollToCursor()
        } else if self.isPaused {
            self.giveUp("paused: p goes on, and shows other rows")
        } else if self.status == .reconnecting {
            self.message = "no connection: other rows come later"
        }
    }

    private mutating func unfold() -> Order? {
        guard let current else { return nil }
        guard current.hasChildren else {
            self.message = Self.nothingBelow
            return nil
        }
        if current.isExpanded {
            self.go(to: self.row + 1)
            return nil
        }
        return self.mayAsk() ? .setExpanded(current.id, true) : nil
    }

    /// Whether the server can be asked now. Otherwise the message says why not: nothing that the user has forgotten
    /// happens later.
    private mutating func mayAsk() -> Bool {
        if self.isPaused {
            self.message = "paused: p goes on"
        } else if self.status == .reconnecting || self.status == .connecting {
            self.message = "no connection: try again later"
        } else {
            return true
        }
        return false
    }

    private mutating func toggle() -> Order? {
        guard let current else { return nil }
        guard current.hasChildren else {
            self.message = Self.nothingBelow
            return nil
        }
        return self.mayAsk() ? .setExpanded(current.id, !current.isExpanded) : nil
    }

    private mutating func foldOrRise() -> Order? {
        guard let current, let state, let index = state.index(of: current.id) else { return nil }
        if current.isExpanded, current.hasChildren { return self.mayAsk() ? .setExpanded(current.id, false) : nil }
        if current.depth == 0 {
            self.message = "this is the top level; u shows the level above"
            return nil
        }
        if let parent = state.parentIndex(ofRowAt: index) {
            self.go(to: state.start + parent)
            return nil
        }
        return self.mayAsk() ? .parent(of: current.id) : nil
    }

    private mutating func expand(_ isExpanded: Bool) -> Order? {
        guard let state, self.mayAsk() else { return nil }
        guard !isExpanded else { return .expand(isExpanded: true, cursor: self.cursor) }
        // The row at the top level that stays.
        var index = self.cursor.flatMap(state.index)
        while let next = index, state.rows[next].depth > 0 { index = state.parentIndex(ofRowAt: next) }
        if index == nil, let cursor = self.cursor, state.index(of: cursor) != nil { return .foldAll(from: cursor) }
        let cursor = index.map { state.rows[$0].id }
        self.goal = cursor.map(Goal.object) ?? .row(0)
        return .expand(isExpanded: false, cursor: cursor)
    }

    private mutating func zoomIn(_ object: ObjectID) -> Order? {
        guard self.mayAsk() else { return nil }
        self.awaitedSource = object
        (self.goal, self.goalTop) = (.row(0), 0)
        return .zoomIn(object)
    }

    private mutating func zoomOut() -> Order? {
        // Without titles, the server says whether there is a level above.
        guard self.path.count != 1 || self.awaitedSource != nil else {
            self.message = "this is the top"
            return nil
        }
        return self.mayAsk() ? .zoomOut : nil
    }

    /// The object that the outline is below, or will be.
    var wantedSource: ObjectID { self.awaitedSource ?? self.source }

    /// Awaits the outline of the level above, with the cursor on the object that it was below.
    mutating func rise(from object: ObjectID, to parent: ObjectID) {
        (self.goal, self.goalTop) = (.object(object), nil)
        self.awaitedSource = parent
    }

    /// Brings the cursor to an object that may not be held.
    mutating func go(to object: ObjectID) {
        (self.goal, self.goalTop) = (.object(object), nil)
        if let state { self.hold(state) }
    }

    private mutating func pressInPrompt(_ key: TerminalKey, _ text: String) -> Order? {
        switch key {
        case .character(let character) where text.count < Self.textMax: self.mode = .typing(text + String(character))
        case .backspace: self.mode = text == "" ? .list : .typing(String(text.dropLast()))
        case .deleteText: self.mode = .typing("")
        case .escape: self.mode = .list
        case .enter:
            self.mode = .list
            // Without a text, repeats the last search.
            if text != "" { self.foundText = text }
            return self.find(.forward)
        default: break
        }
        return nil
    }

    // MARK: Search

    /// Searches the rows that are shown in the whole outline, from the row beside the cursor on.
    private mutating func find(_ direction: RowSearch.Direction) -> Order? {
        guard self.foundText != "" else {
            self.message = "type / and a text first"
            return nil
        }
        let start = self.row + (direction == .forward ? 1 : -1)
        let wrapped = start < 0 ? self.total - 1 : start >= self.total ? 0 : start
        self.search = RowSearch(text: self.foundText, direction: direction, start: wrapped)
        self.message = RowSearch.progress(0, of: self.total)
        return .search
    }

    mutating func found(_ hit: RowSearch.Hit?) {
        self.search = nil
        guard let hit else { return self.message = "no row that is shown has “\(self.foundText)”" }
        guard !self.isPaused || self.state?.index(of: hit.id) != nil else {
            return self.message = "found at row \(Counted.grouped(hit.number + 1)); paused: p goes on"
        }
        self.message = hit.isWrapped ? "found; the search continued at the other end" : nil
        self.go(to: hit.id)
    }

    // MARK: Drawing

    mutating func shown() { self.marks.shown() }

    func frame() -> ScreenFrame {
        var frame: ScreenFrame
        if case .help(let top) = self.mode {
            frame = ScreenFrame(lines: Array(HelpPage.outline.lines.dropFirst(top)))
            frame.end(with: ScreenLine("↑ ↓ scroll; any other key: back", .dim), rows: self.size.rows)
        } else {
            let head = [
                self.header.line(columns: self.size.columns), OutlineText.path(self.path, columns: self.size.columns),
            ]
            let footer = self.footer
            frame = ScreenFrame(lines: head + self.rowLines)
            frame.end(with: footer, rows: self.size.rows)
            if case .typing = self.mode {
                frame.cursor = ScreenFrame.Place(row: frame.lines.count - 1, column: footer.end)
            }
        }
        frame.lines = frame.lines.map { $0.cut(to: self.size.columns) }
        return frame
    }

    private var page: Range<Int> {
        guard let state else { return 0..<0 }
        let held = state.start..<state.start + state.rows.count
        return (self.top..<self.top + self.room).clamped(to: held)
    }

    private var header: HeaderLine {
        HeaderLine(
            title: self.text.title(of: self.source),
            hasState: self.state != nil,
            rows: self.page,
            total: self.total,
            sectionTotal: nil,
            revision: self.revision,
            status: self.isWaiting && self.status == .live ? .loading : self.status,
            counts: self.marks.counts,
            people: self.people
        )
    }

    private var rowLines: [ScreenLine] {
        guard let state else { return [] }
        if state.total == 0 { return [ScreenLine("    nothing is below this object", .dim)] }
        return self.page.map { number in
            let row = state.rows[number - state.start]
            let line = self.text.line(
                row,
                state.projection,
                isCursor: row.id == self.cursor,
                marks: self.marks[row.id],
                columns: self.size.columns
            )
            return self.people.beside(line, row.id, columns: self.size.columns)
        }
    }

    private var footer: ScreenLine {
        let columns = self.size.columns
        if case .typing(let text) = self.mode { return FooterLine.prompt(text, columns: columns) }
        if let message { return FooterLine.message(message) }
        guard self.hasKeys else {
            return FooterLine.message("no keys: standard input is no terminal; Ctrl-C quits")
        }
        return FooterLine.keys(FooterLine.outline, note: "", columns: columns)
    }
}
