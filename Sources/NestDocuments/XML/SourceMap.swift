/// Maps locations in a changed text to locations in its original.
struct SourceMap: Sendable {
    /// A change, by the locations after it. Up to the next change, both texts are the same.
    private struct Change: Sendable {
        var changed: TextLocation
        var original: TextLocation
    }

    /// In the order of the text.
    private var changes: [Change] = [Change(changed: TextLocation(), original: TextLocation())]

    mutating func append(changed: TextLocation, original: TextLocation) {
        self.changes.append(Change(changed: changed, original: original))
    }

    /// Drops what only earlier locations need.
    mutating func forget(before location: TextLocation) {
        let next = self.changes.firstIndex { location.precedes($0.changed) } ?? self.changes.count
        if next > 1 { self.changes.removeFirst(next - 1) }
    }

    func original(_ location: TextLocation) -> TextLocation {
        // A binary search: a file may have a repair on every line.
        var (low, high) = (0, self.changes.count)
        while low < high {
            let middle = (low + high) / 2
            if location.precedes(self.changes[middle].changed) { high = middle } else { low = middle + 1 }
        }
        let change = self.changes[max(low - 1, 0)]
        let lines = location.line - change.changed.line
        return TextLocation(
            line: change.original.line + lines,
            column: max(
                lines == 0 ? change.original.column + location.column - change.changed.column : location.column,
                1
            )
        )
    }
}
