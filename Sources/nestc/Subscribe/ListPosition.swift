import NestModel

/// A movement on the screen.
enum ScrollKey: CaseIterable {
    case up
    case down
    case pageUp
    case pageDown
    case home
    case end

    init?(_ key: TerminalKey) {
        switch key {
        case .up, .character("k"): self = .up
        case .down, .enter, .character("j"): self = .down
        case .pageUp: self = .pageUp
        case .pageDown: self = .pageDown
        case .home, .character("g"): self = .home
        case .end, .character("G"): self = .end
        default: return nil
        }
    }
}

/// Which rows of a list the screen shows. Rows are numbered from 0.
///
/// A key sets a goal. If the rows of the goal are not held yet, the screen keeps the old page until they arrive, and
/// further keys move the goal. A followed row stays on its line of the screen wherever the list puts it, until the user
/// scrolls it off the screen.
struct ListPosition {
    private enum Goal: Equatable {
        /// This row is the first on the screen.
        case top(Int)
        /// The row before this one is the last on the screen.
        case bottom(Int)
        /// The followed row has so many rows above it.
        case followed(line: Int)
    }

    private var goal: Goal
    private(set) var followed: ObjectID?
    /// The rows on the screen.
    private(set) var page = 0..<0
    /// Whether the page is that of the goal.
    private(set) var isSettled = false

    /// The pages that are requested on each side of the screen, so that scrolling is immediate.
    private static let pagesAhead = 2

    /// `start`: the first rows, or the followed row, that the user specified.
    init(_ start: FetchWindow?) {
        switch start {
        case .around(let id, let before, _)?:
            self.goal = .followed(line: before)
            self.followed = id
        case .range(let offset, _)?: self.goal = .top(offset)
        case nil: self.goal = .top(0)
        }
    }

    // MARK: Goals

    mutating func scroll(_ key: ScrollKey, total: Int, room: Int) {
        let page = self.expectedPage(room)
        switch key {
        case .up: self.goal = page.lowerBound > 0 ? .top(page.lowerBound - 1) : .top(0)
        case .down: self.goal = .top(page.lowerBound + 1)
        case .pageUp: self.goal = .bottom(page.lowerBound)
        case .pageDown: self.goal = .top(page.upperBound < total ? page.upperBound : max(page.lowerBound, 0))
        case .home: self.goal = .top(0)
        case .end: self.goal = .bottom(total)
        }
        self.isSettled = false
    }

    /// The page of the goal if all its rows were held and had no headings.
    private func expectedPage(_ room: Int) -> Range<Int> {
        if self.isSettled { return self.page }
        switch self.goal {
        case .top(let top): return top..<top + room
        case .bottom(let end): return max(end - room, 0)..<end
        case .followed: return self.page
        }
    }

    /// Follows a row. If it is on the screen, it stays on its line; otherwise it comes to the middle of the screen.
    mutating func follow(_ id: ObjectID, number: Int, room: Int) {
        let line = self.page.contains(number) ? number - self.page.lowerBound : room / 2
        self.followed = id
        self.goal = .followed(line: line)
        self.isSettled = false
    }

    /// Follows the row that took the place of the followed one.
    mutating func follow(instead id: ObjectID) { self.followed = id }

    mutating func stopFollowing() {
        self.followed = nil
        if case .followed = self.goal { self.goal = .top(self.page.lowerBound) }
    }

    // MARK: The held rows

    /// Finds the page of the goal in the held rows. If they do not suffice, keeps the page as far as it is held.
    mutating func settle(_ held: HeldRows, room: Int) {
        let page = self.goalPage(held, room)
        self.isSettled = page != nil
        self.page = page ?? self.heldPage(held, room)
        guard page != nil else { return }
        if let followed, let number = held.number(of: followed), self.page.contains(number) {
            self.goal = .followed(line: number - self.page.lowerBound)
        } else {
            self.followed = nil
            self.goal = .top(self.page.lowerBound)
        }
    }

    private func goalPage(_ held: HeldRows, _ room: Int) -> Range<Int>? {
        if held.total == 0 { return 0..<0 }
        switch self.goal {
        case .top(let top): return Self.page(from: min(max(top, 0), held.total - 1), held, room)
        case .bottom(let end): return Self.page(upTo: min(max(end, 1), held.total), held, room)
        case .followed(let line):
            guard let followed, let number = held.number(of: followed) else { return nil }
            let line = line < room ? line : room / 2
            guard let page = Self.page(from: max(number - line, 0), held, room) else { return nil }
            // Headings may leave fewer rows than its line needs.
            return page.upperBound > number ? page : Self.page(upTo: number + 1, held, room)
        }
    }

    /// Returns the page from a row on. If the list ends before the page does, returns the last page.
    private static func page(from top: Int, _ held: HeldRows, _ room: Int) -> Range<Int>? {
        guard held.range.contains(top) else { return nil }
        let page = held.page(from: top, room: room)
        if page.upperBound < held.range.upperBound { return page }
        if held.range.upperBound < held.total {
            // The page may be complete by chance; without the next row, this is not known.
            return nil
        }
        return self.page(upTo: held.total, held, room)
    }

    /// Returns the page up to a row. If the list begins after the page would, returns the first page.
    private static func page(upTo end: Int, _ held: HeldRows, _ room: Int) -> Range<Int>? {
        guard held.range.contains(end - 1) else { return nil }
        let page = held.page(upTo: end, room: room)
        // A heading may need more lines than are left above; then rows after it fill them.
        if page.lowerBound > held.first { return held.page(from: page.lowerBound, room: room) }
        guard held.first == 0 else { return nil }
        let first = held.page(from: 0, room: room)
        return first.upperBound < held.range.upperBound || held.range.upperBound == held.total ? first : nil
    }

    private func heldPage(_ held: HeldRows, _ room: Int) -> Range<Int> {
        guard let last = held.range.last else { return held.first..<held.first }
        let top = min(max(self.page.lowerBound, held.first), last)
        return held.page(from: top, room: room)
    }

    // MARK: The window

    /// Returns the window to request if `current` does not hold the page and a page on each side of it.
    func window(_ current: FetchWindow?, total: Int?, room: Int) -> FetchWindow? {
        let ahead = room * Self.pagesAhead
        if let followed, !self.isScrolling {
            let wanted = FetchWindow.around(followed, before: room + ahead, after: room + ahead)
            return wanted == current ? nil : wanted
        }
        // The goal may be beyond the end of the list.
        let count = total ?? Int.max
        let expected = self.expectedPage(room)
        let end = min(expected.upperBound, count)
        let top = max(min(expected.lowerBound, end - room), 0)
        let size = room + 2 * ahead
        if case .range(let offset, size)? = current {
            let isHeld = max(top - room, 0) >= offset && min(end, count - room) + room <= offset + size
            if isHeld { return nil }
        }
        let wanted = FetchWindow.range(offset: max(top - ahead, 0), limit: size)
        return wanted == current ? nil : wanted
    }

    /// Whether the goal is not where the followed row is.
    private var isScrolling: Bool {
        if case .followed = self.goal { false } else { true }
    }
}
