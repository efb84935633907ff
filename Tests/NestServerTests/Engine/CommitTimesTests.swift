import NestModel
import NestProtocol
import NestServer
import NestTestSupport
import Testing

/// The times of recent commits.
@Suite struct CommitTimesTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func thereAreNoTimesWithoutACommit() {
        for now in [0, 1_000 * Self.second] {
            let none = CommitTimes().summary(now: now)
            #expect(none.count == 0 && none.median == 0 && none.percentile99 == 0 && none.longest == 0)
        }
    }

    /// Compares with the sorted times of the slices that are still remembered.
    @Test func quantilesAreThoseOfTheSortedTimes() {
        let slice = UInt64(Limits.commitTimesSeconds / Limits.commitTimesSlices) * Self.second
        for seed in 0..<20 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var times = CommitTimes()
            var all: [(at: UInt64, microseconds: UInt64)] = []
            var now: UInt64 = 10_000 * Self.second
            for _ in 0..<2_000 {
                now += UInt64(random.below(Int(Self.second) / 8))
                if random.oneIn(200) { now += UInt64(random.below(90)) * Self.second }
                let microseconds = UInt64(1) << UInt64(random.below(24)) + UInt64(random.below(900))
                times.record(microseconds * 1_000, now: now)
                all.append((now, microseconds))
                guard random.oneIn(20) else { continue }
                let first = now / slice - UInt64(Limits.commitTimesSlices) + 1
                let recent = all.filter { $0.at / slice >= first }.map(\.microseconds).sorted()
                let summary = times.summary(now: now)
                #expect(summary.count == recent.count && summary.longest == recent.last.map(Int.init), "seed \(seed)")
                for (value, rank) in [(summary.median, 0.5), (summary.percentile99, 0.99)] {
                    let exact = Double(recent[max(0, Int((rank * Double(recent.count)).rounded(.up)) - 1)])
                    #expect(abs(Double(value) - exact) <= max(1, exact * 0.01), "seed \(seed): \(value), \(exact)")
                }
            }
        }
    }

    @Test func timesAreForgottenSliceBySlice() {
        let slice = UInt64(Limits.commitTimesSeconds / Limits.commitTimesSlices) * Self.second
        var times = CommitTimes()
        for number in 0..<UInt64(Limits.commitTimesSlices) {
            times.record((number + 1) * 1_000_000, now: number * slice)
        }
        let last = UInt64(Limits.commitTimesSeconds) * Self.second - 1
        #expect(times.summary(now: last).count == Limits.commitTimesSlices)
        for gone in 1...Limits.commitTimesSlices {
            let summary = times.summary(now: last + UInt64(gone) * slice)
            #expect(summary.count == Limits.commitTimesSlices - gone)
        }
    }

    /// A time that is longer than the histograms can tell is still the longest.
    @Test func veryLongTimesAreCounted() {
        var times = CommitTimes()
        times.record(7_200 * Self.second, now: 0)
        let summary = times.summary(now: 0)
        #expect(summary.count == 1 && summary.longest == 7_200_000_000 && summary.median >= 3_564_000_000)
    }
}
