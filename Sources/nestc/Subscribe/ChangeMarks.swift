import NestDocuments
import NestModel

/// The marks before rows that the last change inserted, moved or updated, and the numbers of such rows.
///
/// A row that comes into the window because the window or the rows before it have moved has no mark. The numbers of
/// inserted and deleted rows count the whole list.
struct ChangeMarks {
    struct Mark: Equatable {
        /// `+` inserted, `>` moved.
        var position: Character = " "
        var isUpdated = false
    }

    /// What a state leaves to compare the next one with.
    private struct Last {
        var total: Int
        /// The numbers of the rows in the window.
        var rows: Range<Int>

        init(_ state: SectionedSnapshot) {
            self.total = state.window?.total ?? state.total
            let first = state.window?.start.row ?? 0
            self.rows = first..<first + state.total
        }

        var hasRowsBefore: Bool { self.rows.lowerBound > 0 }
        var hasRowsAfter: Bool { self.rows.upperBound < self.total }
    }

    private var marks: [ObjectID: Mark] = [:]
    private var insertedCount = 0
    private var deletedCount = 0
    private var last: Last?
    /// Whether the marks have been drawn. If so, the next change starts with no marks.
    private var isShown = false

    // MARK: Changes

    /// Notes a diff. `state` is the state after it. `isAnswer`: it leads to the rows of another request, and the rows
    /// that it inserts are not new.
    mutating func note(_ diff: ResultsDiff, _ state: SectionedSnapshot, isAnswer: Bool) {
        let now = Last(state)
        defer { self.last = now }
        if isAnswer { return self.noteTotal(from: self.last?.total ?? now.total, to: now.total) }
        self.startIfShown()
        let deleted = diff.deletedRows.count { $0.reason != .outOfWindow }
        for deleted in diff.deletedRows { self.marks[deleted.id] = nil }
        // The rows that are new to the list, at least: other rows may have left it outside the window.
        let new = now.total - (self.last?.total ?? now.total) + deleted
        let appeared = self.appeared(diff, state)
        // A row appears because it is new, or because it has moved here from outside the window. Later objects have
        // greater ids.
        let inserted = appeared.sorted(by: >).prefix(max(new, 0))
        for id in appeared { self.marks[id] = Mark(position: inserted.contains(id) ? "+" : ">") }
        for move in diff.moves { self.mark(state[move.to].id) { if $0.position == " " { $0.position = ">" } } }
        for update in diff.updates { self.mark(state[update.path].id) { $0.isUpdated = true } }
        if let anchor = Self.movedAnchor(diff, state) { self.mark(anchor) { $0.position = ">" } }
        self.insertedCount += max(new, inserted.count)
        self.deletedCount += deleted + max(inserted.count - new, 0)
    }

    /// Notes that the window's position has changed and its rows have not.
    mutating func note(_ position: WindowPosition) {
        guard let before = self.last else { return }
        let first = position.start.row
        self.last?.total = position.total
        self.last?.rows = first..<first + before.rows.count
        self.noteTotal(from: before.total, to: position.total)
    }

    /// Notes a snapshot. `isAnswer`: the user requested other rows; otherwise the list has changed much, and the
    /// changed rows are not known.
    mutating func note(snapshot state: SectionedSnapshot, isAnswer: Bool) {
        let before = self.last
        self.last = Last(state)
        guard !isAnswer, let before else { return }
        self.marks = [:]
        self.noteTotal(from: before.total, to: state.window?.total ?? state.total)
    }

    private mutating func noteTotal(from before: Int, to now: Int) {
        guard now != before else { return }
        self.startIfShown()
        if now > before { self.insertedCount += now - before } else { self.deletedCount += before - now }
    }

    private mutating func startIfShown() {
        guard self.isShown else { return }
        let last = self.last
        self = ChangeMarks()
        self.last = last
    }

    private mutating func mark(_ id: ObjectID, _ change: (inout Mark) -> Void) {
        change(&self.marks[id, default: Mark()])
    }

    /// Returns the rows that the diff inserts, without those at an edge of the window that may have been beyond the
    /// edge before.
    private func appeared(_ diff: ResultsDiff, _ state: SectionedSnapshot) -> [ObjectID] {
        let inserted = Set(diff.insertedRows.map(\.row.id))
        var ids = state.sections.flatMap(\.rows).map(\.id)[...]
        if self.last?.hasRowsAfter ?? false {
            while let id = ids.last, inserted.contains(id) { ids.removeLast() }
        }
        if self.last?.hasRowsBefore ?? false {
            while let id = ids.first, inserted.contains(id) { ids.removeFirst() }
        }
        return ids.filter(inserted.contains)
    }

    /// Returns the anchor if it has moved to other rows: of the window's rows, only the anchor has stayed.
    private static func movedAnchor(_ diff: ResultsDiff, _ state: SectionedSnapshot) -> ObjectID? {
        guard let anchor = state.window?.anchor, diff.insertedRows.count == state.total - 1, state.total > 1,
            diff.deletedRows.contains(where: { $0.reason == .outOfWindow }),
            !diff.insertedRows.contains(where: { $0.row.id == anchor })
        else { return nil }
        return anchor
    }

    mutating func shown() { self.isShown = true }

    // MARK: Texts

    subscript(id: ObjectID) -> Mark { self.marks[id] ?? Mark() }

    /// The numbers of changes, like `+1`, `>2`, `~1`, `-3`.
    var counts: [StyledText] {
        let moved = self.marks.values.count { $0.position == ">" }
        let updated = self.marks.values.count { $0.isUpdated }
        let counts: [(String, Int, StyledText.Style)] = [
            ("+", self.insertedCount, .green), (">", moved, .cyan), ("~", updated, .yellow),
            ("-", self.deletedCount, .red),
        ]
        return counts.filter { $0.1 > 0 }.map { StyledText("\($0)\(Counted.grouped($1))", $2) }
    }
}

extension ChangeMarks.Mark {
    /// The mark's characters, each with its style.
    var parts: [StyledText] {
        [
            StyledText("\(self.position)", self.position == "+" ? .green : .cyan),
            StyledText(self.isUpdated ? "~" : " ", .yellow),
        ]
    }
}
