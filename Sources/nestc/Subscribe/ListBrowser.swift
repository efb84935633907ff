import NestDocuments
import NestModel

/// What the terminal shows of a list, and what its keys do: state and size in, lines and orders out. It does no I/O.
struct ListBrowser {
    /// What the caller does after a key.
    enum Order: Equatable {
        case quit
        case pause
        case resume
        case search
    }

    private enum Mode: Equatable {
        case list
        /// The user types the text to find.
        case typing(String)
        /// The help page, from this line on.
        case help(Int)
    }

    private let text: ListText
    private var mode = Mode.list
    private var position: ListPosition
    private var marks = ChangeMarks()
    private var columns: ListColumns?
    private var held: HeldRows?
    private var projection: [PropertyNumber] = []
    private var revision = Revision(0)
    /// The next search; `nil`: none.
    private(set) var search: RowSearch?
    private var foundText = ""
    private var message: String?
    private var isPaused = false
    var status = ListStatus.connecting
    var people = ShownPeople()
    /// Whether keys can be pressed: standard input is a terminal.
    var hasKeys = true

    var size: TerminalScreen.Size {
        didSet { if self.size.columns != oldValue.columns { self.columns = nil } }
    }

    init(_ text: ListText, _ start: FetchWindow?, _ size: TerminalScreen.Size) {
        self.text = text
        self.size = size
        self.position = ListPosition(start)
    }

    /// The lines for rows and headings: without the header, the names of the columns, the totals and the footer.
    private var room: Int { max(self.size.rows - (self.text.totals.isEmpty ? 3 : 4), 1) }
    private static let textMax = 200

    // MARK: State

    /// `isAnswer`: the change answers a request of other rows.
    mutating func note(_ diff: ResultsDiff, _ state: SectionedSnapshot, isAnswer: Bool) {
        self.marks.note(diff, state, isAnswer: isAnswer)
        self.hold(state)
    }

    mutating func note(_ position: WindowPosition, _ state: SectionedSnapshot) {
        self.marks.note(position)
        self.hold(state)
    }

    mutating func note(totals state: SectionedSnapshot) { self.hold(state) }

    mutating func note(snapshot state: SectionedSnapshot, isAnswer: Bool) {
        self.marks.note(snapshot: state, isAnswer: isAnswer)
        self.hold(state)
    }

    mutating func note(_ revision: Revision) { self.revision = revision }

    /// Notes that the server follows another object, because `left` has left the list.
    mutating func note(anchor: ObjectID, insteadOf left: ObjectID) {
        guard let followed = self.position.followed, followed == left else { return }
        self.position.follow(instead: anchor)
        self.message = "#\(followed) has left the list; #\(anchor) took its place"
        self.settle()
    }

    private mutating func hold(_ state: SectionedSnapshot) {
        self.held = HeldRows(state, isSectioned: self.text.isSectioned)
        self.projection = state.projection
        self.revision = state.revision
        self.settle()
    }

    private mutating func settle() {
        if let held { self.position.settle(held, room: self.room) }
    }

    mutating func say(_ message: String?) { self.message = message }

    /// Returns the window to request instead of `current`, or `nil` if it suffices.
    func window(_ current: FetchWindow?) -> FetchWindow? {
        self.position.window(current, total: self.held?.total, room: self.room)
    }

    var total: Int { self.held?.total ?? 0 }

    /// Where the user is, for others.
    var place: PresencePlace { PresencePlace(object: self.position.followed) }

    /// Whether the rows that the user wants are on the screen.
    var isSettled: Bool { self.position.isSettled }

    mutating func stopFollowing() {
        self.position.stopFollowing()
        self.settle()
    }

    // MARK: Keys

    mutating func press(_ key: TerminalKey) -> Order? {
        switch self.mode {
        case .list: return self.pressInList(key)
        case .typing(let text): return self.pressInPrompt(key, text)
        case .help(let top):
            self.mode = HelpPage.list.press(key, top, rows: self.size.rows).map(Mode.help) ?? .list
            return nil
        }
    }

    private mutating func pressInList(_ key: TerminalKey) -> Order? {
        // A running search ends.
        self.search = nil
        self.message = nil
        if let scroll = ScrollKey(key) {
            self.position.scroll(scroll, total: self.total, room: self.room)
            self.settle()
            if !self.position.isSettled { self.message = self.reasonForOldRows }
            return nil
        }
        switch key {
        case .character("q"): return .quit
        case .character("?"): self.mode = .help(0)
        case .character("/"): self.mode = .typing("")
        case .character("n"): return self.find(.forward)
        case .character("N"): return self.find(.backward)
        case .character("p"), .character(" "):
            self.isPaused.toggle()
            return self.isPaused ? .pause : .resume
        case .escape: self.stopFollowing()
        default: break
        }
        return nil
    }

    /// Why other rows do not come soon.
    private var reasonForOldRows: String? {
        if self.isPaused { return "paused: p goes on, and shows other rows" }
        return self.status == .reconnecting ? "no connection: other rows come later" : nil
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
            return self.find(.forward, isNew: text != "")
        default: break
        }
        return nil
    }

    // MARK: Search

    /// A new search begins with the first row of the screen, and a repeated one beside the followed row.
    private mutating func find(_ direction: RowSearch.Direction, isNew: Bool = false) -> Order? {
        guard self.foundText != "" else {
            self.message = "type / and a text first"
            return nil
        }
        let followed = self.position.followed.flatMap { self.held?.number(of: $0) }
        let top = self.position.page.lowerBound
        let step = direction == .forward ? 1 : -1
        var start = followed.map { $0 + step } ?? (direction == .forward ? top : top - 1)
        if isNew { start = top }
        // Beyond the list's ends is its other end.
        if start < 0 { start = self.total - 1 } else if start >= self.total { start = 0 }
        self.search = RowSearch(text: self.foundText, direction: direction, start: start)
        return .search
    }

    /// Ends the search at its hit.
    mutating func found(_ hit: RowSearch.Hit?) {
        self.search = nil
        guard let hit else { return self.message = "no row shows “\(self.foundText)”" }
        self.message = hit.isWrapped ? "found; the search continued at the other end of the list" : nil
        self.position.follow(hit.id, number: hit.number, room: self.room)
        self.settle()
        if self.isPaused, !self.position.isSettled {
            self.position.stopFollowing()
            self.message = "row \(Counted.grouped(hit.number + 1)) shows it; p goes on, and n goes there"
        }
    }

    // MARK: Drawing

    mutating func shown() { self.marks.shown() }

    mutating func frame() -> ScreenFrame {
        var frame: ScreenFrame
        if case .help(let top) = self.mode {
            frame = ScreenFrame(lines: Array(HelpPage.list.lines.dropFirst(top)))
            frame.end(with: ScreenLine("↑ ↓ scroll; any other key: back", .dim), rows: self.size.rows)
        } else {
            frame = ScreenFrame(lines: [self.header.line(columns: self.size.columns)] + self.list())
            if let totals = self.totals { frame.end(with: totals, rows: self.size.rows - 1) }
            let footer = self.footer
            frame.end(with: footer, rows: self.size.rows)
            if case .typing = self.mode {
                frame.cursor = ScreenFrame.Place(row: frame.lines.count - 1, column: footer.end)
            }
        }
        frame.lines = frame.lines.map { $0.cut(to: self.size.columns) }
        return frame
    }

    /// The line with the totals of the list; `nil` if it has none, or if the screen is too small.
    private var totals: ScreenLine? {
        guard !self.text.totals.isEmpty, self.size.rows > 4, let held else { return nil }
        return ScreenLine(self.text.totals.text(held.totals), .dim)
    }

    private var header: HeaderLine {
        HeaderLine(
            title: self.text.title,
            hasState: self.held != nil,
            rows: self.position.page,
            total: self.total,
            sectionTotal: self.text.isSectioned ? self.held?.sectionTotal : nil,
            revision: self.revision,
            status: self.status,
            counts: self.marks.counts,
            people: self.people
        )
    }

    private var footer: ScreenLine {
        let columns = self.size.columns
        if case .typing(let text) = self.mode { return FooterLine.prompt(text, columns: columns) }
        if let message { return FooterLine.message(message) }
        guard self.hasKeys else {
            return FooterLine.message("no keys: standard input is no terminal; Ctrl-C quits")
        }
        let note = self.position.followed.map { "following #\($0)" } ?? ""
        return FooterLine.keys(FooterLine.list, note: note, columns: columns)
    }

    /// The columns of the screen before a row's values: the followed row's mark, two marks of changes, a space.
    private static let gutter = 4

    /// Returns the names of the columns, and the rows with the headings of their sections.
    private mutating func list() -> [ScreenLine] {
        guard let held else { return [] }
        let printer = self.text.printer(self.projection)
        let hidden = self.text.constantColumn
        var columns = self.columns ?? ListColumns(printer.header, isChosen: self.text.isChosen, hidden: hidden)
        for number in held.range { columns.note(printer.cells(held[number].row)) }
        self.columns = columns
        let room = self.size.columns - Self.gutter
        var names = ScreenLine()
        for cell in columns.header(room) { names.add(StyledText(cell.text, .dim), at: Self.gutter + cell.start) }
        var lines = [names]
        let page = self.position.page
        for number in page {
            let row = held[number]
            if held.hasHeading(number, isFirst: number == page.lowerBound, room: self.room) {
                let heading = self.text.heading(row.key)
                var line = ScreenLine(escapingControls(heading.text), heading.style)
                let totals = self.text.totals.text(row.totals)
                if totals != "" { line.add(StyledText(totals, .dim), at: line.end + 2) }
                lines.append(line)
            }
            lines.append(self.line(row.row, columns.cells(printer.cells(row.row), room)))
        }
        return lines
    }

    private func line(_ row: Row, _ cells: [ListColumns.Cell]) -> ScreenLine {
        let isFollowed = row.id == self.position.followed
        var line = ScreenLine()
        if isFollowed { line.add(StyledText("*", .bold)) }
        for (index, mark) in self.marks[row.id].parts.enumerated() where mark.text != " " {
            line.add(mark, at: 1 + index)
        }
        for cell in cells { line.add(StyledText(cell.text, isFollowed ? .bold : .plain), at: Self.gutter + cell.start) }
        return self.people.beside(line, row.id, columns: self.size.columns)
    }
}
