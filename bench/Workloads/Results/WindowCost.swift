import BenchEngine
import NestModel
import NestProtocol

/// A commit that puts a row before all others of a large result, with very many windows over it, against one with none: each
/// range shows another row at both ends, what follows an object shows the same somewhere else.
struct WindowCost {
    let report: Report
    let rounds: Int
    let rows: Int
    /// Windows, all different.
    let count: Int

    private static let commits = 20
    private static let windowRows = 20

    private enum Kind: String, CaseIterable {
        case ranges
        case anchored
    }

    func run() throws {
        var side = try TableSide(self.rows)
        // Both sides keep the result.
        try side.subject.subscribe(TableModel.all(in: .range(offset: 0, limit: 1)), on: 2)
        for kind in Kind.allCases { try self.measure(&side, kind) }
        try side.subject.close()
    }

    private func measure(_ side: inout TableSide, _ kind: Kind) throws {
        var measurement = Measurement(
            workload: "results",
            parameters: "head insert, \(Report.short(Double(self.count))) \(kind.rawValue)",
            unit: "us",
            nest: [],
            limitName: "the same with none; engine time of a commit",
            limit: [],
            isTime: true
        )
        var pulses: [Double] = []
        var turns = 0
        for round in 0..<self.rounds {
            Progress.show("\(kind.rawValue): round \(round + 1)")
            measurement.limit.append(try self.commit(&side).time)
            let (first, connections) = try self.subscribe(&side, kind)
            let run = try self.commit(&side)
            measurement.nest.append(run.time)
            turns = run.turns
            pulses.append(side.subject.timePulse(Turns.threadTime) * 1e6)
            side.subject.disconnect(first, connections)
        }
        Progress.clear()
        self.report.add(measurement)
        let each = zip(measurement.nest, measurement.limit).map { ($0 - $1) / Double(self.count) }
        let pulse = Report.fixed(Measurement.median(pulses))
        self.report.note(
            "\(Report.fixed(Measurement.median(each))) us a window, in \(turns + 1) turns; \(pulse) us for a pulse"
        )
    }

    private func commit(_ side: inout TableSide) throws -> (time: Double, turns: Int) {
        let run = try side.table.timeHeadInserts(Self.commits, side.subject, Turns.threadTime)
        return (run.time / Double(Self.commits) * 1e6, run.turnCount / Self.commits)
    }

    private func subscribe(_ side: inout TableSide, _ kind: Kind) throws -> (first: UInt64, connections: Int) {
        let each = Limits.subscriptionsPerConnectionMax
        let connections = (self.count + each - 1) / each
        let first = side.subject.connect(connections)
        let anchors = kind == .anchored ? side.table.some(self.count) : []
        for index in 0..<self.count {
            let window: FetchWindow =
                switch kind {
                case .ranges:
                    .range(offset: self.rows / self.count * index + 1, limit: Self.windowRows)
                case .anchored:
                    .around(anchors[index], before: Self.windowRows / 2, after: Self.windowRows / 2 - 1)
                }
            try side.subject.subscribe(TableModel.all(in: window), on: first + UInt64(index / each))
        }
        return (first, connections)
    }
}
