/// Finds the places of items that say them one by one: by a depth, by the id of a parent, or not at all. What the first
/// item says decides.
struct PlaceReader: Sendable {
    private enum Mode: Sendable {
        case start
        case depths(IndentationStack)
        case parents(ParentOrder)
        case flat
    }

    private var mode = Mode.start

    /// Repairs, in words for people.
    var warnings: [String] {
        guard case .depths(let stack) = self.mode, stack.unevenCount > 0 else { return [] }
        return ["items between two levels, taken as the nearest: \(stack.unevenCount)"]
    }

    /// Takes the next item; appends it if its place is known at once.
    mutating func take(
        _ row: OutlineRow,
        _ place: JSONItem.Place,
        line: Int,
        into rows: inout [OutlineRow]
    ) throws(FormatError) {
        if case .start = self.mode {
            if place.depth != nil {
                self.mode = .depths(IndentationStack())
            } else if place.id != nil || place.hasParent {
                self.mode = .parents(ParentOrder())
            } else {
                self.mode = .flat
            }
        }
        // Taken out, so that what it holds is changed in place.
        let mode = self.mode
        self.mode = .flat
        switch mode {
        case .start, .flat:
            guard place.parent == nil, place.depth == nil else {
                throw FormatError(line: line, column: 1, "a place, when the first item had none")
            }
            rows.append(row)
        case .depths(var stack):
            guard let depth = place.depth else {
                throw FormatError(line: line, column: 1, "no depth, when the first item had one")
            }
            var row = row
            row.depth = stack.depth(column: depth)
            rows.append(row)
            self.mode = .depths(stack)
        case .parents(var order):
            try order.append(row, id: place.id, parent: place.parent, line: line)
            self.mode = .parents(order)
        }
    }

    /// All items have come: appends those that waited for others.
    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        guard case .parents(let order) = self.mode else { return }
        self.mode = .flat
        try order.finish(into: &rows)
    }
}
