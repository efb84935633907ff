import Histogram

/// What one attack did to the bystanders and to nestd.
struct AttackFigures {
    struct Memory: Codable, Equatable {
        var before = 0
        var peak = 0
        /// `--settle` seconds after the attackers have left; `nil` when nestd is gone.
        var after: Int?
    }

    let attack: Attack
    var alone: [Bystander.Kind: Waits] = [:]
    var attacked: [Bystander.Kind: Waits] = [:]
    var memory = Memory()
    var tally = AttackTally()
    /// Why the attack could not go on.
    var failure: String?
    var attackSeconds = 0.0
    /// From the begin of the attack until every bystander was answered again.
    var untilAnsweredSeconds = 0.0
    /// How nestd ended by itself.
    var died: Child.End?
    /// From SIGTERM to nestd's end; `nil` when it had to be killed, or had died.
    var terminationSeconds: Double?

    init(_ attack: Attack) {
        self.attack = attack
    }

    /// How many times as long the 99th percentile is beside the attack.
    func times(_ kind: Bystander.Kind) -> Double? {
        guard let alone = Percentiles(self.alone[kind]), let attacked = Percentiles(self.attacked[kind]) else {
            return nil
        }
        return Double(attacked.p99) / Double(max(alone.p99, 1))
    }
}

/// Of waits, in microseconds.
struct Percentiles: Codable, Equatable {
    var p50: UInt64
    var p99: UInt64
    var max: UInt64

    /// `nil` where nobody waited.
    init?(_ waits: Waits?) {
        guard let histogram = waits?.histogram, histogram.totalCount > 0 else { return nil }
        self.p50 = histogram.valueAtPercentile(50)
        self.p99 = histogram.valueAtPercentile(99)
        self.max = histogram.max
    }
}
