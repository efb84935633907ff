import CJemalloc

/// Returns the number of bytes that the process has allocated and not freed, each allocation rounded up to the
/// allocator's size.
///
/// The allocator reports them, so freed memory that it keeps for later does not count, except what other threads keep
/// for themselves.
package func memoryInUse() -> Int {
    _ = mallctl("thread.tcache.flush", nil, nil, nil, 0)
    // The allocator refreshes its figures when its epoch is set.
    var epoch: UInt64 = 1
    _ = mallctl("epoch", nil, nil, &epoch, MemoryLayout<UInt64>.size)
    var (bytes, size) = (0, MemoryLayout<Int>.size)
    let status = mallctl("stats.allocated", &bytes, &size, nil, 0)
    precondition(status == 0, "jemalloc is built with its figures")
    return bytes
}
