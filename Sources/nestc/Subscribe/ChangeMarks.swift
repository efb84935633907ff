import NestModel

/// The marks before rows that have changed since the screen was drawn last.
struct ChangeMarks {
    private struct Mark {
        /// `+` inserted, `>` moved.
        var position: Character = " "
        var isUpdated = false
    }

    private var marks: [ObjectID: Mark] = [:]
    private(set) var leftCount = 0
    /// Whether the marks have been drawn. If so, the next change starts with no marks.
    private var isShown = false

    /// `state` is the state after the diff.
    mutating func note(_ diff: ResultsDiff, _ state: SectionedSnapshot) {
        if self.isShown { self = ChangeMarks() }
        self.leftCount += diff.deletedRows.count
        for deleted in diff.deletedRows { self.marks[deleted.id] = nil }
        for inserted in diff.insertedRows { self.marks[inserted.row.id] = Mark(position: "+") }
        for move in diff.moves { self.mark(state[move.to].id) { if $0.position == " " { $0.position = ">" } } }
        for update in diff.updates { self.mark(state[update.path].id) { $0.isUpdated = true } }
    }

    private mutating func mark(_ id: ObjectID, _ change: (inout Mark) -> Void) {
        change(&self.marks[id, default: Mark()])
    }

    mutating func shown() { self.isShown = true }

    /// Returns the two characters before a row.
    func text(_ id: ObjectID, _ output: Output) -> String {
        guard let mark = self.marks[id] else { return "  " }
        let position =
            switch mark.position {
            case "+": output.coloured("+", .green)
            case ">": output.coloured(">", .cyan)
            default: " "
            }
        return position + (mark.isUpdated ? output.coloured("~", .yellow) : " ")
    }

    /// Returns `+1 >2 ~1 -3`, or an empty text if nothing has changed.
    func summary(_ output: Output) -> String {
        let inserted = self.marks.values.count { $0.position == "+" }
        let moved = self.marks.values.count { $0.position == ">" }
        let updated = self.marks.values.count { $0.isUpdated }
        let counts: [(String, Int, Output.Colour)] = [
            ("+", inserted, .green), (">", moved, .cyan), ("~", updated, .yellow), ("-", self.leftCount, .red),
        ]
        return counts.filter { $0.1 > 0 }.map { output.coloured("\($0)\($1)", $2) }.joined(separator: " ")
    }
}
