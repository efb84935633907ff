import Foundation

/// Prints each series as a table with a line about its growth below, or as lines of JSON.
struct ScalingReport {
    let isJSON: Bool

    func add(_ series: Series, _ points: [ScalingPoint]) {
        let growths = Growths(points)
        if self.isJSON {
            for point in points { self.print(point, of: series) }
            self.print(growths, points, of: series)
        } else {
            Swift.print("\n\(series.id): \(series.operation)")
            let heads = ["\(series.quantity)", "p50 us", "p99 us", "times", "server us", "times", "memory MB"]
            self.row(heads)
            for point in points { self.row(Self.cells(point)) }
            Swift.print("  \(Self.summary(growths, points, of: series))")
        }
        fflush(nil)
    }

    private static func cells(_ point: ScalingPoint) -> [String] {
        [
            "\(point.count)", Report.short(point.time), Report.short(point.percentile99),
            Report.fixed(point.timeGrowth), Report.short(point.work), Report.fixed(point.growth),
            Report.fixed(Double(point.memory) / 1e6),
        ]
    }

    private func row(_ cells: [String]) {
        let padded = cells.map { String(repeating: " ", count: max(11 - $0.count, 1)) + $0 }
        Swift.print(padded.joined())
    }

    private static func summary(
        _ growths: Growths?,
        _ points: [ScalingPoint],
        of series: Series
    ) -> String {
        guard let growths, let first = points.first, let last = points.last else { return "one size only" }
        let work = growths.work
        var text =
            "\(growths.verdict.rawValue): the server's work grows as \(series.quantity)^\(Self.signed(work.exponent))"
        text += " (steepest \(Self.signed(work.steepest))), \(Report.fixed(last.growth)) times from "
        text += "\(first.count) to \(last.count)"
        text += "; the time as ^\(Self.signed(growths.time.exponent))"
        if series.measuresMemory, let bytes = Self.bytesEach(points) {
            text += "; \(Report.short(bytes)) B of memory for each"
        }
        return text
    }

    private static func signed(_ value: Double) -> String {
        (value < 0 ? "-" : "") + Report.fixed(abs(value))
    }

    /// Returns the memory for one more, from the smallest count to the largest.
    private static func bytesEach(_ points: [ScalingPoint]) -> Double? {
        guard let first = points.first, let last = points.last, last.count > first.count else { return nil }
        return Double(last.memory - first.memory) / Double(last.count - first.count)
    }

    // MARK: JSON

    private func print(_ point: ScalingPoint, of series: Series) {
        let measurement = Measurement(
            workload: "scaling",
            parameters: "\(series.id): \(point.count)",
            unit: "us",
            nest: point.grown.map(\.median),
            limitName: "\(series.operation); the same at the smallest count, in turn",
            limit: point.smallest.map(\.median),
            latency: point.latency,
            isTime: true
        )
        let fields =
            Report.fields(measurement) + [
                "\"series\":\"\(series.id)\"", "\"quantity\":\"\(series.quantity)\"", "\"count\":\(point.count)",
                "\"serverMicroseconds\":\(Report.json(point.grown.map(\.workMicroseconds)))",
                "\"serverMicrosecondsSmallest\":\(Report.json(point.smallest.map(\.workMicroseconds)))",
                "\"memoryBytes\":\(point.memory)",
            ]
        Swift.print("{\(fields.joined(separator: ","))}")
    }

    private func print(_ growths: Growths?, _ points: [ScalingPoint], of series: Series) {
        guard let growths, let last = points.last else { return }
        let measurement = Measurement(
            workload: "scaling",
            parameters: "\(series.id): growth",
            unit: "exponent",
            nest: [growths.work.exponent],
            limitName: "",
            limit: [],
            isTime: true,
            wanted: "at most 1.1"
        )
        var fields =
            Report.fields(measurement) + [
                "\"series\":\"\(series.id)\"", "\"quantity\":\"\(series.quantity)\"",
                "\"steepest\":\(growths.work.steepest)",
                "\"growth\":\(last.growth)", "\"timeExponent\":\(growths.time.exponent)",
                "\"verdict\":\"\(growths.verdict.rawValue)\"",
            ]
        if series.measuresMemory, let bytes = Self.bytesEach(points) { fields.append("\"bytesEach\":\(bytes)") }
        Swift.print("{\(fields.joined(separator: ","))}")
    }
}

/// The growth of a series' work and of its time.
private struct Growths {
    let work: Growth
    let time: Growth
    let verdict: Growth.Verdict

    /// `nil` for fewer than two points.
    init?(_ points: [ScalingPoint]) {
        guard let work = Growth(points.map { ($0.count, $0.work) }),
            let time = Growth(points.map { ($0.count, $0.time) }),
            let times = Growth(points.map { ($0.count, $0.growth) })
        else { return nil }
        (self.work, self.time, self.verdict) = (work, time, Growth.verdict(work, times))
    }
}
