import NestModel

/// What became of rows since the screen was drawn last but once: the marks before them.
struct ChangeMarks {
    private struct Mark {
        /// `+` new, `>` moved.
        var place: Character = " "
        var isUpdated = false
    }

    private var marks: [ObjectID: Mark] = [:]
    private(set) var leftCount = 0
    /// The marks have been seen: what comes now begins anew.
    private var isShown = false

    /// `state` is what the change has led to.
    mutating func note(_ diff: ResultsDiff, _ state: SectionedSnapshot) {
        if self.isShown { self = ChangeMarks() }
        self.leftCount += diff.deletedRows.count
        for deleted in diff.deletedRows { self.marks[deleted.id] = nil }
        for inserted in diff.insertedRows { self.marks[inserted.row.id] = Mark(place: "+") }
        for move in diff.moves { self.mark(state[move.to].id) { if $0.place == " " { $0.place = ">" } } }
        for update in diff.updates { self.mark(state[update.path].id) { $0.isUpdated = true } }
    }

    private mutating func mark(_ id: ObjectID, _ change: (inout Mark) -> Void) {
        change(&self.marks[id, default: Mark()])
    }

    mutating func shown() { self.isShown = true }

    /// Two characters before a row.
    func text(_ id: ObjectID, _ output: Output) -> String {
        guard let mark = self.marks[id] else { return "  " }
        let place =
            switch mark.place {
            case "+": output.coloured("+", .green)
            case ">": output.coloured(">", .cyan)
            default: " "
            }
        return place + (mark.isUpdated ? output.coloured("~", .yellow) : " ")
    }

    /// `+1 >2 ~1 -3`; empty when nothing has changed.
    func summary(_ output: Output) -> String {
        let inserted = self.marks.values.count { $0.place == "+" }
        let moved = self.marks.values.count { $0.place == ">" }
        let updated = self.marks.values.count { $0.isUpdated }
        let counts: [(String, Int, Output.Colour)] = [
            ("+", inserted, .green), (">", moved, .cyan), ("~", updated, .yellow), ("-", self.leftCount, .red),
        ]
        return counts.filter { $0.1 > 0 }.map { output.coloured("\($0)\($1)", $2) }.joined(separator: " ")
    }
}
