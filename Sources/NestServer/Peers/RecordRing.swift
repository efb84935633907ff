import DequeModule
import NestModel
import NestStore

/// The newest records of the log, without a gap, up to a number of bytes.
struct RecordRing: Sendable {
    enum Reading: Sendable {
        /// The next records, oldest first; at least one.
        case records([LogEntry])
        /// There is no record behind the position yet.
        case end
        /// The ring does not hold the records behind the position, or the position is on another line.
        case behind
    }

    private let bytesMax: Int
    private var entries: Deque<LogEntry> = []
    private var byteCount = 0
    /// The position before the first record.
    private var base: LogPosition

    /// `base`: the first record that is appended comes behind it.
    init(after base: LogPosition, bytesMax: Int) {
        self.base = base
        self.bytesMax = bytesMax
    }

    var last: LogPosition { self.entries.last?.position ?? self.base }

    /// Appends a record. If others are missing before it, the ring begins behind it.
    mutating func append(_ entry: LogEntry) {
        guard entry.position.position == self.last.position + 1 else {
            self = RecordRing(after: entry.position, bytesMax: self.bytesMax)
            return
        }
        self.entries.append(entry)
        self.byteCount += entry.bytes.count
        while self.byteCount > self.bytesMax, let first = self.entries.popFirst() {
            self.byteCount -= first.bytes.count
            self.base = first.position
        }
    }

    /// Notes that the log is at this position, also by records that the ring did not get. A position that it has
    /// changes nothing: what this node has appended since may be reported before it.
    mutating func advance(to position: LogPosition) {
        if !self.holds(position) { self = RecordRing(after: position, bytesMax: self.bytesMax) }
    }

    private func holds(_ position: LogPosition) -> Bool {
        let index = Int(clamping: position.position) - Int(clamping: self.base.position)
        guard (0...self.entries.count).contains(index) else { return false }
        return position == (index == 0 ? self.base : self.entries[index - 1].position)
    }

    /// Returns records behind a position, up to `bytesMax` bytes if the first one is not larger.
    func records(after position: LogPosition, bytesMax: Int) -> Reading {
        // A follower may have read a record in the log that this node is about to report.
        guard position.position <= self.last.position else { return .end }
        let index = position.position - self.base.position
        guard index >= 0 else { return .behind }
        let start = Int(index)
        guard position == (start == 0 ? self.base : self.entries[start - 1].position) else { return .behind }
        guard start < self.entries.count else { return .end }
        var end = start + 1
        var byteCount = self.entries[start].bytes.count
        while end < self.entries.count, byteCount + self.entries[end].bytes.count <= bytesMax {
            byteCount += self.entries[end].bytes.count
            end += 1
        }
        return .records(Array(self.entries[start..<end]))
    }
}
