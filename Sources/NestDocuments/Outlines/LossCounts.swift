/// Counts the data that a format cannot hold, by kind, so that nothing is lost silently.
struct LossCounts: Sendable {
    private var counts: [String: Int] = [:]

    /// `loss`: the kind, such as "notes left out".
    mutating func add(_ loss: String, count: Int = 1) {
        if count > 0 { self.counts[loss, default: 0] += count }
    }

    /// One sentence for each kind, with its count.
    var warnings: [String] {
        self.counts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    }
}
