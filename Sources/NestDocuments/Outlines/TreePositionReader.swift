/// Finds the positions in the tree of items that arrive one by one with a depth, with the id of a parent, or with
/// neither. The first item determines which of the three.
struct TreePositionReader: Sendable {
    private enum Mode: Sendable {
        case depths
        case parents
        case flat
    }

    /// `nil` before the first item.
    private var mode: Mode?
    private var stack = IndentationStack()
    private var order = ParentOrder()

    /// Sentences about repairs.
    var warnings: [String] {
        guard self.stack.unevenCount > 0 else { return [] }
        return ["items between two levels, moved to the nearest: \(self.stack.unevenCount)"]
    }

    /// Takes the next item, and appends it if its position is known at once.
    mutating func take(
        _ row: OutlineRow,
        _ position: TreePosition,
        line: Int,
        into rows: inout [OutlineRow]
    ) throws(FormatError) {
        let mode =
            self.mode ?? (position.depth != nil ? .depths : position.id != nil || position.hasParent ? .parents : .flat)
        self.mode = mode
        switch mode {
        case .flat:
            guard position.parent == nil, position.depth == nil else {
                throw FormatError(line: line, column: 1, "a depth or a parent; the first item had neither")
            }
            rows.append(row)
        case .depths:
            guard let depth = position.depth else {
                throw FormatError(line: line, column: 1, "a depth is missing; the first item had one")
            }
            var row = row
            row.depth = self.stack.depth(column: depth)
            rows.append(row)
        case .parents: try self.order.append(row, id: position.id, parent: position.parent, line: line)
        }
    }

    /// Ends the input: appends the items that waited for others.
    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        let order = self.order
        self.order = ParentOrder()
        try order.finish(into: &rows)
    }
}
