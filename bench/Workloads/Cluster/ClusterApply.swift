import BenchEngine
import NestModel
import NestProtocol

/// Applying the records of a leader against executing its requests, in the engine, without sockets and PostgreSQL.
struct ClusterApply {
    let report: Report
    let options: BenchOptions

    private static let rowsOfRound = 20_000

    func run() throws {
        let directory = try Child.makeDirectory(under: self.options.directory)
        defer { Child.removeDirectory(directory) }
        let subject = try ApplySubject(directory: directory)
        for rows in [1, 100, 1_000] { try self.measure(rows, subject) }
        try subject.close()
    }

    private func measure(_ rows: Int, _ subject: ApplySubject) throws {
        var measurement = Measurement(
            workload: "cluster",
            parameters: "apply, \(rows) row\(rows == 1 ? "" : "s") a commit",
            unit: "rows/s",
            nest: [],
            limitName: "the leader, executing and journalling the same rows; processor time of both",
            limit: [],
            wanted: "ratio at least 1.0"
        )
        let transaction = [Mutation](repeating: Load.insert(under: ObjectID(1)), count: rows)
        let transactions = [[Mutation]](repeating: transaction, count: max(Self.rowsOfRound / rows, 20))
        for round in 0..<self.options.rounds {
            Progress.show("apply, \(rows) a commit: round \(round + 1)")
            let time = try subject.time(transactions, Turns.threadTime)
            let count = Double(rows * transactions.count)
            measurement.nest.append(count / time.applying)
            measurement.limit.append(count / time.executing)
        }
        Progress.clear()
        self.report.add(measurement)
    }
}
