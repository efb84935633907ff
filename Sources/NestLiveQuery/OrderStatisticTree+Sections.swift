import NestModel
import NestOrder

/// Sections as ranges of the tree's keys.
extension OrderStatisticTree {
    /// Returns the section and row of a key. O(log n).
    package func path(of key: RowKey) -> RowPosition {
        guard let sectioning else { return RowPosition(0, self.index(of: key)) }
        let start = sectioning.start(of: key.sort)
        return RowPosition(
            self.sectionIndex(of: start),
            self.index(of: key) - self.index(of: RowKey(start, id: ObjectID(0)))
        )
    }

    /// Whether a section with this start has rows.
    package func hasSection(_ start: SortKey) -> Bool {
        let index = self.index(of: RowKey(start, id: ObjectID(0)))
        return index < self.count && self.sectioning?.start(of: self.key(at: index).sort) == start
    }

    /// The rows of one section within a range of rows.
    package struct SectionRows: Equatable {
        /// The section's key.
        package var key: AttributeValue
        /// Indexes among all rows.
        package var rows: Range<Int>
    }

    /// Returns the sections of a range of rows, each with its rows in the range. O(s log n) for s sections.
    package func sections(of range: Range<Int>) -> [SectionRows] {
        guard let sectioning else { return [SectionRows(key: LiveResult.wholeSection, rows: range)] }
        var sections: [SectionRows] = []
        var first = range.lowerBound
        while first < range.upperBound {
            let start = sectioning.start(of: self.key(at: first).sort)
            func isSame(_ index: Int) -> Bool { sectioning.start(of: self.key(at: index).sort) == start }
            // First double the step, then halve it: both short and long sections are passed quickly.
            var low = first
            var step = 1
            while low + step < range.upperBound, isSame(low + step) {
                low += step
                step *= 2
            }
            var high = min(low + step, range.upperBound)
            while low + 1 < high {
                let middle = (low + high) / 2
                if isSame(middle) { low = middle } else { high = middle }
            }
            sections.append(SectionRows(key: sectioning.name(of: start), rows: first..<high))
            first = high
        }
        return sections
    }
}
