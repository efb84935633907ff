import BenchEngine
import NestModel
import NestProtocol

/// A commit with many subscriptions that it cannot affect, against one without subscriptions. The subscriptions are to
/// rows of other parents, then to rows with other constants.
struct Unconcerned {
    let report: Report
    let rounds: Int
    let count: Int

    private enum Kind: String, CaseIterable {
        case parents = "other parents"
        case constants = "other constants"
    }

    func run() throws {
        for kind in Kind.allCases {
            // The rows are in the first list, and in a group without subscriptions. Both stores have the same rows.
            var nest = try TableSide(ResultSize.smallRows, lists: self.count + 1)
            var limit = try TableSide(ResultSize.smallRows, lists: self.count + 1)
            let before = memoryInUse()
            try self.subscribe(nest, kind)
            let bytes = Double(memoryInUse() - before) / Double(self.count)
            try self.measure(&nest, &limit, kind)
            self.report.add(.bytes(of: "a subscription, \(kind.rawValue)", [bytes]))
            try nest.subject.close()
            try limit.subject.close()
        }
    }

    private func subscribe(_ side: TableSide, _ kind: Kind) throws {
        let each = Limits.subscriptionsPerConnectionMax
        let first = side.subject.connect((self.count + each - 1) / each)
        for index in 0..<self.count {
            let request =
                switch kind {
                case .parents: TableModel.rows(of: side.lists[index + 1])
                case .constants: TableModel.rows(ofGroup: Int64(index))
                }
            try side.subject.subscribe(request, on: first + UInt64(index / each))
            if index % 1_000 == 0 { Progress.show("subscriptions to \(kind.rawValue):", index, of: self.count) }
        }
        Progress.clear()
    }

    private func measure(_ nest: inout TableSide, _ limit: inout TableSide, _ kind: Kind) throws {
        var measurements = Table.Change.allCases.map { change in
            Measurement(
                workload: "results",
                parameters: "\(change.rawValue), \(Report.short(Double(self.count))) \(kind.rawValue)",
                unit: "us",
                nest: [],
                limitName: "the same with no subscription; engine time of a commit",
                limit: [],
                isTime: true,
                wanted: "ratio 1.3, better 1.1"
            )
        }
        for round in 0..<self.rounds {
            Progress.show("\(kind.rawValue): round \(round + 1)")
            let medians = try Turns.medians(ResultSize.blocks) {
                try nest.block(ResultSize.commits, by: .integer, isSubscribed: false)
            } _: {
                try limit.block(ResultSize.commits, by: .integer, isSubscribed: false)
            }
            for (index, figures) in medians.enumerated() {
                measurements[index].nest.append(figures.nest)
                measurements[index].limit.append(figures.limit)
            }
        }
        Progress.clear()
        for measurement in measurements { self.report.add(measurement) }
    }
}
