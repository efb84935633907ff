import Histogram
import NestModel
import NestProtocol

/// The times of the last commits: a histogram for each of the newest slices of time, which are dropped one by one.
/// It has no clock: callers pass the time in.
package struct CommitTimes: Sendable {
    package struct Summary: Equatable, Sendable {
        package var count = 0
        /// In microseconds, at most 1 % too large. All are 0 without a commit.
        package var median = 0
        package var percentile99 = 0
        package var longest = 0
    }

    private struct Slice: Sendable {
        /// Its number since the clock's beginning; `nil`: it has no times.
        var number: UInt64?
        var times = CommitTimes.emptyTimes
        var longest: UInt64 = 0
    }

    /// The largest time that the histograms tell apart: an hour.
    private static let microsecondsMax: UInt64 = 3_600_000_000
    private static let sliceNanoseconds = UInt64(Limits.commitTimesSeconds / Limits.commitTimesSlices) * 1_000_000_000
    private static var emptyTimes: Histogram<UInt32> {
        Histogram(highestTrackableValue: Self.microsecondsMax, numberOfSignificantValueDigits: .two)
    }

    private var slices = [Slice](repeating: Slice(), count: Limits.commitTimesSlices)

    package init() {}

    /// Counts a commit that took `nanoseconds` and ended at `now`, both of a clock that never goes back.
    package mutating func record(_ nanoseconds: UInt64, now: UInt64) {
        let number = now / Self.sliceNanoseconds
        let index = Int(number % UInt64(self.slices.count))
        if self.slices[index].number != number {
            self.slices[index].number = number
            self.slices[index].times.reset()
            self.slices[index].longest = 0
        }
        let microseconds = nanoseconds / 1_000
        self.slices[index].times.record(min(microseconds, Self.microsecondsMax))
        self.slices[index].longest = max(self.slices[index].longest, microseconds)
    }

    /// Returns what the slices have that are still within the last `Limits.commitTimesSeconds`.
    package func summary(now: UInt64) -> Summary {
        let number = now / Self.sliceNanoseconds
        var all = Self.emptyTimes
        var longest: UInt64 = 0
        for slice in self.slices {
            guard let began = slice.number, began <= number, number - began < UInt64(self.slices.count) else {
                continue
            }
            all.add(slice.times)
            longest = max(longest, slice.longest)
        }
        guard all.totalCount > 0 else { return Summary() }
        func value(_ percentile: Double) -> Int { Int(min(all.valueAtPercentile(percentile), longest)) }
        return Summary(
            count: Int(all.totalCount),
            median: value(50),
            percentile99: value(99),
            longest: Int(longest)
        )
    }
}
