import BenchEngine
import NestModel
import NestProtocol

/// A commit that inserts a row before all others of a large result with many windows, against one without windows.
///
/// Each window by range then shows a different row at both ends. Each window around an object shows the same rows at
/// another position.
struct WindowCost {
    let report: Report
    let rounds: Int
    let rows: Int
    /// The number of windows, all different.
    let count: Int

    private static let commits = 20
    private static let windowRows = 20

    private enum Kind: String, CaseIterable {
        case ranges
        case anchored
    }

    func run() throws {
        var side = try TableSide(self.rows)
        // Keeps the result for both sides.
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
            limitName: "the same without windows; engine time of a commit",
            limit: [],
            isTime: true
        )
        var timers: [Double] = []
        var turns = 0
        for round in 0..<self.rounds {
            Progress.show("\(kind.rawValue): round \(round + 1)")
            measurement.limit.append(try self.commit(&side).time)
            let (first, connections) = try self.subscribe(&side, kind)
            let run = try self.commit(&side)
            measurement.nest.append(run.time)
            turns = run.turns
            timers.append(side.subject.timePositionTimer(Turns.threadTime) * 1e6)
            side.subject.disconnect(first, connections)
        }
        Progress.clear()
        self.report.add(measurement)
        let each = zip(measurement.nest, measurement.limit).map { ($0 - $1) / Double(self.count) }
        let timer = Report.fixed(Measurement.median(timers))
        self.report.note(
            "\(Report.fixed(Measurement.median(each))) us a window, in \(turns + 1) turns; position timer \(timer) us"
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
