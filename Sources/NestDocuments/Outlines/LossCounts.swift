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

/// Counts names, and lists the first different ones.
struct NameList: Sendable, CustomStringConvertible {
    private static let namesMax = 8
    private static let nameCharactersMax = 40

    private(set) var count = 0
    private var names: [String] = []
    private var hasMore = false

    mutating func add(_ name: String) {
        self.count += 1
        self.list(name)
    }

    /// Adds another list behind this one.
    mutating func add(_ other: NameList) {
        self.count += other.count
        self.hasMore = self.hasMore || other.hasMore
        for name in other.names { self.list(name) }
    }

    private mutating func list(_ name: String) {
        let name = name.count > Self.nameCharactersMax ? "\(name.prefix(Self.nameCharactersMax))…" : name
        guard !self.names.contains(name) else { return }
        if self.names.count < Self.namesMax { self.names.append(name) } else { self.hasMore = true }
    }

    var description: String { self.names.joined(separator: ", ") + (self.hasMore ? ", …" : "") }
}
