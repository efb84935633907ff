import Foundation
import Histogram
import PeerWires
import NestProtocol

/// Prints each comparison when it is complete: as a table, or as a line of JSON for each peer. The JSON can also go to
/// a file.
final class Report {
    private static let titles = [
        "", "median", "least..most", "nest/it", "least..most", "p50 us", "p99 us", "nest/it p50", "cpu", "client",
        "memory", "does less",
    ]
    private static let widths = [20, 9, 16, 9, 13, 9, 9, 13, 7, 8, 9, 10]

    private let isJSON: Bool
    private let file: FileHandle?
    /// The remarks that were printed. Each remark is printed once, below the first table that needs it.
    private var printedRemarks: Set<String> = []

    /// `output`: a file to create or replace, with its directories.
    init(isJSON: Bool, output: String?) throws {
        self.isJSON = isJSON
        guard let output else {
            self.file = nil
            return
        }
        let url = URL(fileURLWithPath: output)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data().write(to: url)
        self.file = try FileHandle(forWritingTo: url)
    }

    func add(_ comparison: Comparison) throws {
        for line in try JSONMeasurement.lines(of: comparison) {
            try self.file?.write(contentsOf: Data(line.utf8) + [0x0a])
            if self.isJSON { print(line) }
        }
        if !self.isJSON { self.table(comparison) }
        fflush(nil)
    }

    private func table(_ comparison: Comparison) {
        print("\n\(comparison.workload): \(comparison.setting), \(comparison.unit)")
        self.row(Self.titles)
        for side in comparison.sides {
            let nest = side.name == "nest" ? nil : comparison.nest
            let ratios = nest?.values.ratios(to: side.values) ?? Rounds()
            let times = comparison.comparesLatency ? nest?.medians.ratios(to: side.medians) ?? Rounds() : Rounds()
            self.row([
                side.name, Number.short(side.values.median),
                "\(Number.short(side.values.least))..\(Number.short(side.values.most))",
                ratios.isEmpty ? "" : Number.fixed(ratios.median),
                ratios.isEmpty ? "" : "\(Number.fixed(ratios.least))..\(Number.fixed(ratios.most))",
                side.latency.map { "\($0.valueAtPercentile(50))" } ?? "",
                side.latency.map { "\($0.valueAtPercentile(99))" } ?? "",
                times.isEmpty ? "" : Number.fixed(times.median),
                Number.fixed(side.serverCores.median),
                Number.fixed(side.clientCores.median) + (side.isClientLimited ? "!" : ""),
                "\(Int(side.memory.median / 1e6)) MB", side.terms.less,
            ])
        }
        for side in comparison.sides {
            let remarks = [side.terms.note, side.terms.durability].filter { !$0.isEmpty }.joined(separator: "; ")
            if self.printedRemarks.insert(side.name + remarks).inserted { print("  \(side.name): \(remarks)") }
        }
        for side in comparison.sides {
            if let wanted = side.wanted { print("  wanted, nest/\(side.name): \(wanted) (floor, goal)") }
        }
        for text in comparison.leftOut { print("  left out: \(text)") }
        for side in comparison.sides where side.isClientLimited {
            print("  ! the load client was busy all the time: \(side.name) may be faster than measured")
        }
    }

    private func row(_ cells: [String]) {
        let padded = zip(cells, Self.widths).map { cell, width in
            cell + String(repeating: " ", count: max(width - cell.count, 1))
        }
        print("  " + padded.joined())
    }
}

/// Formats numbers for people.
enum Number {
    static func fixed(_ value: Double) -> String { String(format: "%.2f", value) }

    static func short(_ value: Double) -> String {
        switch value {
        case 1e6...: "\(Self.fixed(value / 1e6))M"
        case 1e4...: "\(Int((value / 1e3).rounded()))k"
        case 100...: "\(Int(value.rounded()))"
        default: Self.fixed(value)
        }
    }
}

/// Writes to standard error: progress only on a terminal, messages always.
enum Progress {
    private static let isTerminal = isatty(STDERR_FILENO) == 1

    static func show(_ text: String) { if Self.isTerminal { Self.write("\r\u{1b}[K\(text)") } }

    static func clear() { Self.show("") }

    static func say(_ text: String) {
        Self.clear()
        Self.write("nestpeers: \(text)\n")
    }

    private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
