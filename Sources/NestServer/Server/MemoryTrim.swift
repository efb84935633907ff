import CMalloc

/// Gives memory back to the system after clients have given it up: the allocator keeps what is freed for later otherwise.
struct MemoryTrim {
    /// What must have been given up.
    private static let bytesMin = 64 << 20

    private var peak = 0

    /// Takes what is held now. Returns whether to call `run`.
    mutating func isDue(heldBytes: Int) -> Bool {
        self.peak = max(self.peak, heldBytes)
        guard self.peak - heldBytes >= Self.bytesMin else { return false }
        self.peak = heldBytes
        return true
    }

    /// Blocks for some milliseconds.
    static func run() { malloc_trim(0) }
}
