import Histogram

/// The effect of one attack on the bystanders and on nestd.
struct AttackFigures {
    struct Memory: Codable, Equatable {
        var before = 0
        var peak = 0
        /// The memory `--settle` seconds after the attackers disconnected; `nil` if nestd has ended.
        var after: Int?
    }

    let attack: Attack
    var alone: [Bystander.Kind: Waits] = [:]
    var attacked: [Bystander.Kind: Waits] = [:]
    var memory = Memory()
    var counts = AttackCounts()
    /// The error that ended the attack; `nil` if there was none.
    var failure: String?
    var attackSeconds = 0.0
    /// The seconds from the start of the attack until every bystander was answered again.
    var untilAnsweredSeconds = 0.0
    /// How nestd ended without SIGTERM; `nil` if it did not.
    var died: Child.End?
    /// The seconds from SIGTERM to nestd's end; `nil` if it had to be killed or had died before.
    var terminationSeconds: Double?

    init(_ attack: Attack) {
        self.attack = attack
    }

    /// Returns the 99th percentile during the attack as a multiple of the one before the attack.
    func times(_ kind: Bystander.Kind) -> Double? {
        guard let alone = Percentiles(self.alone[kind]), let attacked = Percentiles(self.attacked[kind]) else {
            return nil
        }
        return Double(attacked.p99) / Double(max(alone.p99, 1))
    }
}

/// Percentiles of waits, in microseconds.
struct Percentiles: Codable, Equatable {
    var p50: UInt64
    var p99: UInt64
    var max: UInt64

    /// Returns `nil` if there are no waits.
    init?(_ waits: Waits?) {
        guard let histogram = waits?.histogram, histogram.totalCount > 0 else { return nil }
        self.p50 = histogram.valueAtPercentile(50)
        self.p99 = histogram.valueAtPercentile(99)
        self.max = histogram.max
    }
}
