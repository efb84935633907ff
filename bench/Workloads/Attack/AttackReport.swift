import Foundation

/// Prints the figures of each attack when it is complete: as a table, as a row of a Markdown table, or as one line of
/// JSON.
struct AttackReport {
    enum Form {
        case text, markdown, json
    }

    private let form: Form
    private static let columns = [11, 27, 27, 10]

    init(_ form: Form) {
        self.form = form
    }

    func begin() {
        guard self.form == .markdown else { return }
        let heads = ["attack"] + Bystander.Kind.allCases.map { "\($0.rawValue)" } + ["memory, MB", "SIGTERM"]
        print("| \(heads.joined(separator: " | ")) |")
        print("|\(String(repeating: " --- |", count: heads.count))")
        fflush(nil)
    }

    func add(_ figures: AttackFigures) {
        switch self.form {
        case .text: for line in Self.lines(figures) { print(line) }
        case .markdown: print(Self.row(figures))
        case .json: print(Self.json(figures))
        }
        // Flushed at once: if a later attack fails, these figures are not lost.
        fflush(nil)
    }

    // MARK: Text

    static func lines(_ figures: AttackFigures) -> [String] {
        var lines = ["", "\(figures.attack.rawValue): \(figures.attack.summary)"]
        lines.append(Self.padded(["bystander", "alone p50 p99 max (ms)", "attacked p50 p99 max (ms)", "p99 times"]))
        for kind in Bystander.Kind.allCases {
            lines.append(
                Self.padded([
                    kind.rawValue, Self.text(Percentiles(figures.alone[kind])),
                    Self.text(Percentiles(figures.attacked[kind])), figures.times(kind).map(Report.short) ?? "-",
                ])
            )
        }
        let refused = figures.attacked.values.reduce(0) { $0 + $1.refused }
        let lost = figures.attacked.values.reduce(0) { $0 + $1.lost }
        if refused + lost > 0 {
            lines.append("  bystanders were refused \(refused) times, and lost \(lost) connections or answers")
        }
        lines.append("  the attack took \(Report.fixed(figures.attackSeconds)) s: \(figures.counts.text)")
        if let failure = figures.failure { lines.append("  it failed: \(failure)") }
        lines.append("  nestd's memory: \(Self.text(figures.memory)); \(Self.end(figures))")
        return lines
    }

    private static func padded(_ cells: [String]) -> String {
        let padded = zip(cells, Self.columns).map { cell, width in
            cell + String(repeating: " ", count: max(width - cell.count, 1))
        }
        return "  " + padded.joined().trimmingCharacters(in: .whitespaces)
    }

    private static func text(_ percentiles: Percentiles?) -> String {
        guard let percentiles else { return "no answer" }
        return [percentiles.p50, percentiles.p99, percentiles.max].map(Self.milliseconds).joined(separator: " ")
    }

    /// Returns microseconds as milliseconds, with two decimals below 100 ms.
    static func milliseconds(_ microseconds: UInt64) -> String {
        let value = Double(microseconds) / 1_000
        return value >= 100 ? "\(Int(value.rounded()))" : Report.fixed(value)
    }

    private static func text(_ memory: AttackFigures.Memory) -> String {
        var text = "\(Self.mega(memory.before)) MB before, \(Self.mega(memory.peak)) MB at most"
        if let after = memory.after { text += ", \(Self.mega(after)) MB after" }
        return text
    }

    private static func mega(_ bytes: Int) -> String { "\(Int((Double(bytes) / 1e6).rounded()))" }

    private static func end(_ figures: AttackFigures) -> String {
        if let died = figures.died { return "it DIED: \(died)" }
        guard let seconds = figures.terminationSeconds else { return "SIGTERM did not end it" }
        return "SIGTERM ended it after \(Report.fixed(seconds)) s"
    }

    // MARK: Markdown

    static func row(_ figures: AttackFigures) -> String {
        var cells = ["`\(figures.attack.rawValue)`"]
        for kind in Bystander.Kind.allCases {
            let alone = Percentiles(figures.alone[kind]).map { Self.milliseconds($0.p99) } ?? "-"
            let attacked = Percentiles(figures.attacked[kind]).map { Self.milliseconds($0.p99) } ?? "no answer"
            cells.append("\(alone) → \(attacked)")
        }
        let memory = figures.memory
        cells.append(
            "\(Self.mega(memory.before)), \(Self.mega(memory.peak)), \(memory.after.map(Self.mega) ?? "-")"
        )
        cells.append(
            figures.died.map { "died: \($0)" }
                ?? figures.terminationSeconds.map { "\(Report.fixed($0)) s" } ?? "killed"
        )
        return "| \(cells.joined(separator: " | ")) |"
    }

    // MARK: JSON

    private struct Line: Encodable {
        var workload = "attack"
        var attack: String
        var bystanders: [String: BystanderLine]
        var memoryBytes: AttackFigures.Memory
        var answered: Int
        var refused: [String: Int]
        var sent: Int
        var late: Int
        var ended: Int
        var failure: String?
        var attackSeconds: Double
        var untilAnsweredSeconds: Double
        var died: String?
        var terminationSeconds: Double?
    }

    private struct BystanderLine: Encodable {
        var aloneMicroseconds: Percentiles?
        var attackedMicroseconds: Percentiles?
        var times: Double?
        var refused: Int
        var lost: Int
    }

    static func json(_ figures: AttackFigures) -> String {
        var bystanders: [String: BystanderLine] = [:]
        for kind in Bystander.Kind.allCases {
            bystanders[kind.rawValue] = BystanderLine(
                aloneMicroseconds: Percentiles(figures.alone[kind]),
                attackedMicroseconds: Percentiles(figures.attacked[kind]),
                times: figures.times(kind),
                refused: figures.attacked[kind]?.refused ?? 0,
                lost: figures.attacked[kind]?.lost ?? 0
            )
        }
        let line = Line(
            attack: figures.attack.rawValue,
            bystanders: bystanders,
            memoryBytes: figures.memory,
            answered: figures.counts.answered,
            refused: figures.counts.refused,
            sent: figures.counts.sent,
            late: figures.counts.late,
            ended: figures.counts.ended,
            failure: figures.failure,
            attackSeconds: figures.attackSeconds,
            untilAnsweredSeconds: figures.untilAnsweredSeconds,
            died: figures.died?.description,
            terminationSeconds: figures.terminationSeconds
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // The line has only numbers and strings, so encoding does not fail.
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
