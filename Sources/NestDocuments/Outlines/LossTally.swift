/// Counts what a format cannot hold, by kind: nothing is left out in silence.
struct LossTally: Sendable {
    private var counts: [String: Int] = [:]

    /// `loss` is a sentence's beginning, such as "notes left out".
    mutating func add(_ loss: String, count: Int = 1) {
        if count > 0 { self.counts[loss, default: 0] += count }
    }

    /// One line for each kind, with its count.
    var warnings: [String] {
        self.counts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    }
}
