/// Finds the places of items that say them one by one: by a depth, by the id of a parent, or not at all. What the first
/// item says decides.
struct PlaceReader: Sendable {
    private enum Mode: Sendable {
        case depths
        case parents
        case flat
    }

    /// `nil` before the first item.
    private var mode: Mode?
    private var stack = IndentationStack()
    private var order = ParentOrder()

    /// Repairs, in words for people.
    var warnings: [String] {
        guard self.stack.unevenCount > 0 else { return [] }
        return ["items between two levels, taken as the nearest: \(self.stack.unevenCount)"]
    }

    /// Takes the next item; appends it if its place is known at once.
    mutating func take(
        _ row: OutlineRow,
        _ place: JSONItem.Place,
        line: Int,
        into rows: inout [OutlineRow]
    ) throws(FormatError) {
        let mode = self.mode ?? (place.depth != nil ? .depths : place.id != nil || place.hasParent ? .parents : .flat)
        self.mode = mode
        switch mode {
        case .flat:
            guard place.parent == nil, place.depth == nil else {
                throw FormatError(line: line, column: 1, "a place, when the first item had none")
            }
            rows.append(row)
        case .depths:
            guard let depth = place.depth else {
                throw FormatError(line: line, column: 1, "no depth, when the first item had one")
            }
            var row = row
            row.depth = self.stack.depth(column: depth)
            rows.append(row)
        case .parents: try self.order.append(row, id: place.id, parent: place.parent, line: line)
        }
    }

    /// All items have come: appends those that waited for others.
    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        let order = self.order
        self.order = ParentOrder()
        try order.finish(into: &rows)
    }
}
