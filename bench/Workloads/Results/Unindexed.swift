import BenchEngine
import NestModel
import NestProtocol

/// A commit that must be checked against every result, because no index covers their predicates: 100 that search in a
/// text, against none.
struct Unindexed {
    let report: Report
    let rounds: Int

    private static let results = 100

    func run() throws {
        var nest = try TableSide(ResultSize.smallRows)
        var limit = try TableSide(ResultSize.smallRows)
        for index in 0..<Self.results { try nest.subject.subscribe(Self.request(index), on: 2) }
        var measurements = Table.Change.allCases.map { change in
            Measurement(
                workload: "results",
                parameters: "\(change.rawValue), \(Self.results) with CONTAINS, LIKE",
                unit: "us",
                nest: [],
                limitName: "the same with no subscription; engine time of a commit",
                limit: [],
                isTime: true
            )
        }
        for round in 0..<self.rounds {
            Progress.show("results that are not indexed: round \(round + 1)")
            let medians = try Turns.medians(ResultSize.blocks) {
                try Self.block(&nest)
            } _: {
                try Self.block(&limit)
            }
            for (index, figures) in medians.enumerated() {
                measurements[index].nest.append(figures.nest)
                measurements[index].limit.append(figures.limit)
            }
        }
        Progress.clear()
        for measurement in measurements {
            self.report.add(measurement)
            let each = zip(measurement.nest, measurement.limit).map { ($0 - $1) / Double(Self.results) }
            self.report.note("\(Report.fixed(Measurement.median(each))) us for each result")
        }
        try nest.subject.close()
        try limit.subject.close()
    }

    /// Every second request has a pattern. Each result has about one row in 2,000.
    private static func request(_ index: Int) -> ObjectFetchRequest {
        let letters = String(Table.text(UInt64(index) * 0x9e37_79b9_7f4a % (1 << 48)).suffix(3))
        guard index % 2 == 1 else { return TableModel.rows(named: .contains, letters) }
        return TableModel.rows(named: .like, "*\(letters.prefix(1))?\(letters.suffix(2))*")
    }

    /// Returns the microseconds of a commit for each kind of change.
    private static func block(_ side: inout TableSide) throws -> [Double] {
        try Table.Change.allCases.map { change in
            let run = try side.table.time(change, ResultSize.commits, by: .text, side.subject, Turns.threadTime)
            return run.time / Double(ResultSize.commits) * 1e6
        }
    }
}
