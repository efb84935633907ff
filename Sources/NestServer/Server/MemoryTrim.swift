import CMalloc

/// Returns freed memory to the system, which the allocator would keep otherwise.
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

    /// Blocks for some milliseconds.
    static func run() { malloc_trim(0) }
}
