import NestModel

/// A set of ids as runs of consecutive ones, for sets that have few: the objects of an import, or of a list that was
/// written at once.
package struct IDRuns: Hashable, Sendable {
    /// More runs are too many to be compared with each row of a table.
    package static let countMax = 64

    /// Ascending; between two runs there is at least one other id.
    package private(set) var runs: [ClosedRange<Int64>] = []
    package private(set) var count = 0
    /// The run that was extended last: most ids follow the one before them.
    private var last = 0

    package init() {}

    package init(_ first: ObjectID, count: Int) {
        guard count > 0 else { return }
        self.runs = [first.rawValue...(first.rawValue + Int64(count) - 1)]
        self.count = count
    }

    package static func == (a: IDRuns, b: IDRuns) -> Bool { a.runs == b.runs }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.runs) }

    package var isEmpty: Bool { self.runs.isEmpty }

    @inline(__always)
    package func contains(_ id: ObjectID) -> Bool { !self.runs.isEmpty && self.finds(id.rawValue) }

    private func finds(_ id: Int64) -> Bool {
        let index = self.index(of: id)
        return index < self.runs.count && self.runs[index].contains(id)
    }

    /// Returns the SQL terms that leave these ids out. `+`: SQLite must not look for a range of ids instead of using
    /// the index of another term.
    package func exclusions(of column: String) -> [String] {
        self.runs.map { "+\(column) NOT BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
    }

    /// Returns the index of the first run that does not end before an id.
    private func index(of id: Int64) -> Int {
        var (low, high) = (0, self.runs.count)
        while low < high {
            let middle = (low + high) / 2
            if self.runs[middle].upperBound < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Adds an id that is not in the set. Returns `false` if there are too many runs then.
    package mutating func insert(_ new: ObjectID) -> Bool {
        let id = new.rawValue
        self.count += 1
        if self.last < self.runs.count, self.runs[self.last].upperBound == id - 1 {
            self.extend(self.last, to: id)
            return true
        }
        let index = self.index(of: id)
        if index > 0, self.runs[index - 1].upperBound == id - 1 {
            self.extend(index - 1, to: id)
        } else if index < self.runs.count, self.runs[index].lowerBound == id + 1 {
            self.runs[index] = id...self.runs[index].upperBound
            self.last = index
        } else {
            self.runs.insert(id...id, at: index)
            self.last = index
        }
        return self.runs.count <= Self.countMax
    }

    /// Adds a run behind all others. Returns `false` if it is not behind them.
    package mutating func append(_ first: ObjectID, through last: ObjectID) -> Bool {
        if let end = self.runs.last?.upperBound, first.rawValue <= end + 1 { return false }
        self.runs.append(first.rawValue...last.rawValue)
        self.count += Int(last.rawValue - first.rawValue) + 1
        return true
    }

    private mutating func extend(_ index: Int, to id: Int64) {
        var end = id
        if index + 1 < self.runs.count, self.runs[index + 1].lowerBound == id + 1 {
            end = self.runs[index + 1].upperBound
            self.runs.remove(at: index + 1)
        }
        self.runs[index] = self.runs[index].lowerBound...end
        self.last = index
    }

    /// Removes up to `count` ids of the last run, the greatest ones, and returns them; `nil` if the set is empty.
    package mutating func removeLast(_ count: Int) -> ClosedRange<Int64>? {
        guard let run = self.runs.last else { return nil }
        let first = max(run.lowerBound, run.upperBound - Int64(count) + 1)
        if first == run.lowerBound {
            self.runs.removeLast()
        } else {
            self.runs[self.runs.count - 1] = run.lowerBound...(first - 1)
        }
        self.count -= Int(run.upperBound - first) + 1
        self.last = 0
        return first...run.upperBound
    }
}
