import DequeModule
import NestModel

/// The revisions of the journal that one session wrote. Its history is found without reading the revisions of other
/// sessions.
struct SessionRevisions {
    /// Runs of consecutive revisions, ascending. Most sessions write many in a row.
    private var runs: Deque<Range<UInt64>> = []

    mutating func append(_ revision: Revision) {
        let number = revision.rawValue
        if let last = self.runs.last, last.upperBound == number {
            self.runs[self.runs.count - 1] = last.lowerBound..<number + 1
        } else {
            self.runs.append(number..<number + 1)
        }
    }

    /// Forgets the revisions that the journal has dropped. O(1) when there are none.
    mutating func drop(through revision: Revision) {
        while let first = self.runs.first, first.lowerBound <= revision.rawValue {
            self.runs.removeFirst()
            guard first.upperBound > revision.rawValue + 1 else { continue }
            self.runs.prepend(revision.rawValue + 1..<first.upperBound)
        }
    }

    /// Returns the revisions before a revision (0: from the newest on), newest first. O(limit + log n).
    func newest(before: Revision, limit: Int) -> [Revision] {
        let end = before == Revision(0) ? UInt64.max : before.rawValue
        // Finds the runs that begin before the end.
        var low = 0
        var high = self.runs.count
        while low < high {
            let middle = (low + high) / 2
            if self.runs[middle].lowerBound < end { low = middle + 1 } else { high = middle }
        }
        var revisions: [Revision] = []
        for run in self.runs[..<low].reversed() {
            for number in run.clamped(to: 0..<end).suffix(limit - revisions.count).reversed() {
                revisions.append(Revision(number))
            }
            if revisions.count == limit { break }
        }
        return revisions
    }
}
