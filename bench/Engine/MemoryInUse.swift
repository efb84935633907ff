import CMalloc

/// Returns the number of bytes that the process has allocated and not freed, including the allocator's headers.
///
/// The allocator reports them, so freed memory that it keeps for later does not count.
package func memoryInUse() -> Int {
    let info = mallinfo2()
    return Int(info.uordblks) + Int(info.hblkhd)
}
