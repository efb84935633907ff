import Glibc

/// Two sides that take turns, block by block, so that whatever else the machine does falls on both.
enum Turns {
    /// For each figure of a block the median over the blocks. Who begins changes from block to block.
    static func medians(
        _ blocks: Int,
        _ nest: () throws -> [Double],
        _ limit: () throws -> [Double]
    ) rethrows -> [(nest: Double, limit: Double)] {
        var figures: (nest: [[Double]], limit: [[Double]]) = ([], [])
        for block in 0..<blocks {
            if block % 2 == 0 { figures.nest.append(try nest()) }
            figures.limit.append(try limit())
            if block % 2 == 1 { figures.nest.append(try nest()) }
        }
        func median(_ blocks: [[Double]], _ index: Int) -> Double { Measurement.median(blocks.map { $0[index] }) }
        return (figures.nest.first ?? []).indices.map { (median(figures.nest, $0), median(figures.limit, $0)) }
    }

    /// Seconds that this thread has worked: what others do on the machine is not in it.
    static func threadTime() -> Double { Self.time(CLOCK_THREAD_CPUTIME_ID) }

    /// Seconds that have passed.
    static func wallTime() -> Double { Self.time(CLOCK_MONOTONIC) }

    private static func time(_ clock: clockid_t) -> Double {
        var now = timespec()
        clock_gettime(clock, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
