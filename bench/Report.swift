import Foundation
import Histogram

/// One measurement of nest and of the raw limit, in the same rounds.
struct Measurement {
    var workload: String
    var parameters: String
    var unit: String
    /// One figure for each round.
    var nest: [Double]
    var limitName: String
    /// Empty if there is no limit.
    var limit: [Double]
    /// What each side used of the hardware, in each round or in some of them; empty if that is not measured.
    var nestUse: [HardwareUse] = []
    var limitUse: [HardwareUse] = []
    /// In microseconds.
    var latency: Histogram<UInt64>?
    /// Whether a smaller figure is better (a time, not a rate).
    var isTime = false
    /// The design's target, as text.
    var wanted: String?

    var ratio: Double { Self.median(zip(self.nest, self.limit).map { $1 == 0 ? 0 : $0 / $1 }) }

    /// The medians of both sides, with their names.
    var uses: [(side: String, use: HardwareUse)] {
        [("nest", self.nestUse), ("limit", self.limitUse)].compactMap { side, rounds in
            HardwareUse(medianOf: rounds).map { (side, $0) }
        }
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

/// Prints each measurement when it is complete: as rows of a table, or as one line of JSON.
struct Report {
    let isJSON: Bool
    private static let columns = [10, 34, 12, 12, 8, 30]

    init(isJSON: Bool) {
        self.isJSON = isJSON
        if !isJSON {
            self.row(["workload", "parameters", "nest", "limit", "ratio", "latency p50 p99 max (us)"])
        }
    }

    func add(_ measurement: Measurement) {
        // Flushed at once: if a later measurement fails, this one is not lost.
        defer { fflush(nil) }
        let nest = Measurement.median(measurement.nest)
        let limit = Measurement.median(measurement.limit)
        if self.isJSON { return print("{\(Self.fields(measurement).joined(separator: ","))}") }
        let latency = measurement.latency.map {
            "\($0.valueAtPercentile(50)) \($0.valueAtPercentile(99)) \($0.max)"
        }
        let isCompared = !measurement.limit.isEmpty
        self.row([
            measurement.workload, measurement.parameters, "\(Self.short(nest)) \(measurement.unit)",
            isCompared ? "\(Self.short(limit)) \(measurement.unit)" : "",
            isCompared ? Self.fixed(measurement.ratio) : "", latency ?? "",
        ])
        if isCompared { self.note("limit: \(measurement.limitName)") }
        if !measurement.uses.isEmpty {
            self.note("hardware: \(measurement.uses.map { "\($0.side) \($0.use.text)" }.joined(separator: "; "))")
        }
        if let wanted = measurement.wanted { self.note("wanted: \(wanted)") }
    }

    /// The members of a measurement's JSON object.
    static func fields(_ measurement: Measurement) -> [String] {
        var fields = [
            "\"workload\":\"\(measurement.workload)\"", "\"parameters\":\"\(measurement.parameters)\"",
            "\"unit\":\"\(measurement.unit)\"", "\"isTime\":\(measurement.isTime)",
            "\"nest\":\(Self.json(measurement.nest))",
            "\"limitName\":\"\(measurement.limitName)\"", "\"limit\":\(Self.json(measurement.limit))",
            "\"ratio\":\(measurement.limit.isEmpty ? "null" : "\(measurement.ratio)")",
        ]
        fields += measurement.uses.map { "\"\($0.side)Use\":\($0.use.json)" }
        if let latency = measurement.latency {
            let figures = [("p50", 50.0), ("p90", 90), ("p99", 99), ("p999", 99.9), ("max", 100)]
            let text = figures.map { "\"\($0)\":\(latency.valueAtPercentile($1))" }.joined(separator: ",")
            fields.append("\"latencyMicroseconds\":{\(text)}")
        }
        if let wanted = measurement.wanted { fields.append("\"wanted\":\"\(wanted)\"") }
        return fields
    }

    /// Prints a remark below the previous row.
    func note(_ text: String) {
        if !self.isJSON { print("           \(text)") }
    }

    private func row(_ cells: [String]) {
        let padded = zip(cells, Self.columns).map { cell, width in
            cell + String(repeating: " ", count: max(width - cell.count, 1))
        }
        print(padded.joined())
    }

    static func json(_ values: [Double]) -> String {
        "[\(values.map { "\($0)" }.joined(separator: ","))]"
    }

    static func fixed(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    static func short(_ value: Double) -> String {
        switch value {
        case 1e6...: "\(Self.fixed(value / 1e6))M"
        case 1e4...: "\(Int((value / 1e3).rounded()))k"
        case 100...: "\(Int(value.rounded()))"
        default: Self.fixed(value)
        }
    }
}
