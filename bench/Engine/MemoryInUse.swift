import CMalloc

/// The bytes that the process has allocated and not given back, the allocator's own headers included.
///
/// Told by the allocator, not by the pages the process holds: what was given back and is kept for later is not counted.
package func memoryInUse() -> Int {
    let info = mallinfo2()
    return Int(info.uordblks) + Int(info.hblkhd)
}
