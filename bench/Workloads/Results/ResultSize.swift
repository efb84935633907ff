import BenchEngine
import NestModel
import NestProtocol

/// A commit that changes one row in the middle of a large sorted result, against one that changes a small one.
///
/// Each result has all rows of its own store. The ratio therefore includes the growth of the store's cost, which a note
/// states separately.
struct ResultSize {
    let report: Report
    let rounds: Int
    let rows: Int

    static let smallRows = 1_000
    /// The number of commits in a block.
    static let commits = 250
    static let blocks = 12

    func run() throws {
        var large = try TableSide(self.rows)
        var small = try TableSide(Self.smallRows)
        for key in SortedBy.allCases {
            let alone = try self.measure(&large, &small, key, isSubscribed: false)
            let views = (
                try large.subject.subscribe(TableModel.all(by: key), on: 2),
                try small.subject.subscribe(TableModel.all(by: key), on: 2)
            )
            let measured = try self.measure(&large, &small, key, isSubscribed: true)
            large.subject.drop(view: views.0, on: 2)
            small.subject.drop(view: views.1, on: 2)
            for (measurement, alone) in zip(measured, alone) {
                self.report.add(measurement)
                let figures = [alone.nest, alone.limit].map { Report.fixed(Measurement.median($0)) }
                self.report.note("without the result: \(figures[0]) us, \(figures[1]) us, \(Report.fixed(alone.ratio))")
            }
        }
        try large.subject.close()
        try small.subject.close()
    }

    private func measure(
        _ large: inout TableSide,
        _ small: inout TableSide,
        _ key: SortedBy,
        isSubscribed: Bool
    ) throws -> [Measurement] {
        var measurements = Table.Change.allCases.map { change in
            Measurement(
                workload: "results",
                parameters: "\(change.rawValue), by \(key.rawValue), of \(Report.short(Double(self.rows)))",
                unit: "us",
                nest: [],
                limitName: "the same in a result and store of \(Self.smallRows) rows; engine time of a commit",
                limit: [],
                isTime: true,
                wanted: "ratio 3, better 2"
            )
        }
        for round in 0..<self.rounds {
            Progress.show("by \(key.rawValue): round \(round + 1)")
            let medians = try Turns.medians(Self.blocks) {
                try large.block(Self.commits, by: key, isSubscribed: isSubscribed)
            } _: {
                try small.block(Self.commits, by: key, isSubscribed: isSubscribed)
            }
            for (index, figures) in medians.enumerated() {
                measurements[index].nest.append(figures.nest)
                measurements[index].limit.append(figures.limit)
            }
        }
        Progress.clear()
        return measurements
    }
}
