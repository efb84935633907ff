/// Turns the columns at which lines begin into depths.
///
/// A line to the right of the one before is one level deeper, however far. A line to the left belongs to the known
/// level nearest to its column; if two are equally near, to the deeper one.
struct IndentationStack {
    /// The column of each open level, strictly increasing.
    private var columns: [Int] = []
    /// The number of lines that began between two levels.
    private(set) var unevenCount = 0

    /// Returns the depth of a line that begins at `column`.
    mutating func depth(column: Int) -> Int {
        guard let last = self.columns.last else {
            self.columns = [column]
            return 0
        }
        if column > last {
            self.columns.append(column)
            return self.columns.count - 1
        }
        var level = self.levelAtOrLeft(of: column)
        if self.columns[level] != column {
            self.unevenCount += 1
            let isBetween = self.columns[level] < column
            if isBetween, self.columns[level + 1] - column <= column - self.columns[level] { level += 1 }
        }
        self.columns.removeSubrange((level + 1)...)
        // Lines to the right of this one are now below it.
        self.columns[level] = column
        return level
    }

    /// Returns the deepest level whose column is not to the right of `column`, or the top.
    private func levelAtOrLeft(of column: Int) -> Int {
        var low = 0
        var high = self.columns.count
        while low < high {
            let middle = (low + high) / 2
            if self.columns[middle] <= column { low = middle + 1 } else { high = middle }
        }
        return max(low - 1, 0)
    }
}
