import Glibc

/// Measures two sides alternately, block by block, so that other load on the machine affects both.
enum Turns {
    /// Returns the medians over all blocks, for each figure of a block. The side that begins alternates.
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

    /// Returns the processor time of this thread in seconds. Other load on the machine does not change it.
    static func threadTime() -> Double { Self.time(CLOCK_THREAD_CPUTIME_ID) }

    /// Returns the processor time of all threads of this process in seconds.
    static func processTime() -> Double { Self.time(CLOCK_PROCESS_CPUTIME_ID) }

    /// Returns the time of a monotonic clock in seconds.
    static func wallTime() -> Double { Self.time(CLOCK_MONOTONIC) }

    private static func time(_ clock: clockid_t) -> Double {
        var now = timespec()
        clock_gettime(clock, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
