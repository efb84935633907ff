import BenchEngine
import NestModel
import NestProtocol

/// Commits at the head of a tree that many different outlines follow, against the same without outlines. Those that do
/// not fit the work limit of a batch get a net difference later.
struct ManyOutlines {
    let report: Report
    let rounds: Int
    let rows: Int
    let count: Int

    private static let commits = 40
    private static let windowRows = 20

    func run() throws {
        let side = try OutlineSide(.list, self.rows)
        for kind in Kind.allCases { try self.measure(side, kind) }
        try side.subject.close()
    }

    private enum Kind: String, CaseIterable {
        /// Each has other rows after a commit.
        case ranges = "windows by range"
        /// Each has the same rows at another position.
        case anchored = "windows elsewhere"
    }

    private func measure(_ side: OutlineSide, _ kind: Kind) throws {
        var measurement = Measurement(
            workload: "outline",
            parameters: "\(Report.short(Double(self.count))) \(kind.rawValue)",
            unit: "/s",
            nest: [],
            limitName: "the same without outlines; commits for a second of engine time",
            limit: []
        )
        var each: [Double] = []
        var diffs = 0
        for round in 0..<self.rounds {
            Progress.show("\(self.count) outlines: round \(round + 1)")
            let alone = try self.commit(side)
            let per = Limits.outlinesPerConnectionMax
            let connections = (self.count + per - 1) / per
            let first = side.subject.connect(connections)
            let head = try self.head(side)
            for index in 0..<self.count {
                // No two have the same window.
                let window: FetchWindow =
                    switch kind {
                    case .ranges:
                        .range(offset: index % (self.rows / 2), limit: Self.windowRows + index / (self.rows / 2))
                    case .anchored:
                        .around(head, before: index % 40, after: Self.windowRows + index / 40)
                    }
                try side.subscribe(window, on: first + UInt64(index / per))
            }
            let run = try self.commit(side)
            measurement.limit.append(Double(Self.commits) / alone.time)
            measurement.nest.append(Double(Self.commits) / run.time)
            each.append((run.time - alone.time) / Double(Self.commits) / Double(self.count) * 1e6)
            diffs = run.pushCount / Self.commits
            side.subject.disconnect(first, connections)
        }
        Progress.clear()
        self.report.add(measurement)
        self.report.note("\(Report.fixed(Measurement.median(each))) us an outline and commit; \(diffs) diffs a commit")
    }

    private func commit(_ side: OutlineSide) throws -> EngineSubject.Run {
        let step = [Load.insert(under: ObjectID(1), Load.title, .first)]
        return try side.subject.time([[Mutation]](repeating: step, count: Self.commits), Turns.threadTime)
    }

    /// Inserts a row at the head, which later ones push down.
    private func head(_ side: OutlineSide) throws -> ObjectID {
        try side.subject.write([[Load.insert(under: ObjectID(1), Load.title, .first)]]).inserted[0]
    }
}
