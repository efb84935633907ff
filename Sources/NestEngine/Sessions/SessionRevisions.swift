import DequeModule
import NestModel

/// The revisions of the journal that one session wrote, so that its history is found without a look at those of others.
struct SessionRevisions {
    /// Ascending, without a gap inside; most writers write many in a row.
    private var runs: Deque<Range<UInt64>> = []

    mutating func append(_ revision: Revision) {
        let number = revision.rawValue
        if let last = self.runs.last, last.upperBound == number {
            self.runs[self.runs.count - 1] = last.lowerBound..<number + 1
        } else {
            self.runs.append(number..<number + 1)
        }
    }

    /// Forgets what the journal has dropped. O(1) when that is nothing.
    mutating func drop(through revision: Revision) {
        while let first = self.runs.first, first.lowerBound <= revision.rawValue {
            self.runs.removeFirst()
            guard first.upperBound > revision.rawValue + 1 else { continue }
            self.runs.prepend(revision.rawValue + 1..<first.upperBound)
        }
    }

    /// Those before a revision (the newest when it is 0), newest first. O(limit + log n).
    func newest(before: Revision, limit: Int) -> [Revision] {
        let end = before == Revision(0) ? UInt64.max : before.rawValue
        // Runs that begin before the end.
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
