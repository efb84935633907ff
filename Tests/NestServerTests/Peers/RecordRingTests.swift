import NestModel
import NestStore
import NestTestSupport
import Testing

@testable import NestServer

/// The ring of a leader's records, compared with a list of all records.
@Suite struct RecordRingTests {
    private static func position(_ number: Int64, line: UInt64 = 0) -> LogPosition {
        LogPosition(position: number, chain: Chain(Identifier128(high: line, low: UInt64(number))))
    }

    private static func entry(_ number: Int64, _ byteCount: Int) -> LogEntry {
        LogEntry(position: Self.position(number), bytes: LogBytes([UInt8](repeating: 0, count: byteCount)))
    }

    /// All records since the last gap, oldest first, and the position before them.
    private struct Naive {
        var base: Int64
        var entries: [LogEntry] = []
        let bytesMax: Int

        var last: Int64 { self.entries.last?.position.position ?? self.base }

        mutating func append(_ entry: LogEntry) {
            if entry.position.position == self.last + 1 {
                self.entries.append(entry)
            } else {
                self = Naive(base: entry.position.position, bytesMax: self.bytesMax)
            }
        }

        /// Those that are in the ring: as many of the newest as fit.
        var kept: [LogEntry] {
            var kept: [LogEntry] = []
            var byteCount = 0
            for entry in self.entries.reversed() {
                byteCount += entry.bytes.count
                guard byteCount <= self.bytesMax else { break }
                kept.insert(entry, at: 0)
            }
            return kept
        }

        func expected(after number: Int64, bytesMax: Int) -> String {
            if number > self.last { return "end" }
            let kept = self.kept
            let first = kept.first.map { $0.position.position - 1 } ?? self.last
            guard number >= first else { return "behind" }
            var byteCount = 0
            var next: [Int64] = []
            for entry in kept where entry.position.position > number {
                byteCount += entry.bytes.count
                guard next.isEmpty || byteCount <= bytesMax else { break }
                next.append(entry.position.position)
            }
            return next.isEmpty ? "end" : "\(next)"
        }
    }

    private static func text(_ reading: RecordRing.Reading) -> String {
        switch reading {
        case .end: "end"
        case .behind: "behind"
        case .records(let entries): "\(entries.map(\.position.position))"
        }
    }

    @Test func theRingHasTheNewestRecordsWithoutAGap() {
        for seed in Seeds.range(0..<300) {
            var random = SeededRandom(seed: seed)
            let bytesMax = 1 + random.below(60)
            var naive = Naive(base: 10, bytesMax: bytesMax)
            var ring = RecordRing(after: Self.position(10), bytesMax: bytesMax)
            for _ in 0..<40 {
                if random.oneIn(12) {
                    // An older position that it has changes nothing.
                    let position = naive.last + Int64(random.below(5)) - 2
                    ring.advance(to: Self.position(position))
                    let first = naive.kept.first.map { $0.position.position - 1 } ?? naive.last
                    if !(first...naive.last).contains(position) { naive = Naive(base: position, bytesMax: bytesMax) }
                } else {
                    let gap = random.oneIn(10) ? Int64(1 + random.below(2)) : 0
                    let entry = Self.entry(naive.last + 1 + gap, random.below(20))
                    ring.append(entry)
                    naive.append(entry)
                }
                let (number, limit) = (naive.last + 1 - Int64(random.below(9)), random.below(40))
                let reading = Self.text(ring.records(after: Self.position(number), bytesMax: limit))
                #expect(reading == naive.expected(after: number, bytesMax: limit), "NEST_SEED=\(seed)")
                if number <= naive.last {
                    let other = ring.records(after: Self.position(number, line: 1), bytesMax: limit)
                    #expect(Self.text(other) == "behind", "another line, NEST_SEED=\(seed)")
                }
            }
        }
    }
}
