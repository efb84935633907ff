import CJemalloc

/// Returns freed memory to the system, which the allocator would keep for some seconds otherwise.
struct MemoryTrim {
    /// Trim when at least this much was freed.
    private static let bytesMin = 64 << 20

    private var peak = 0

    /// Records how much is held now. Returns whether to call `run`.
    mutating func isDue(heldBytes: Int) -> Bool {
        self.peak = max(self.peak, heldBytes)
        guard self.peak - heldBytes >= Self.bytesMin else { return false }
        self.peak = heldBytes
        return true
    }

    /// Blocks for some milliseconds. jemalloc's number 4096 stands for all arenas.
    static func run() { _ = mallctl("arena.4096.purge", nil, nil, nil, 0) }
}
