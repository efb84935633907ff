import BenchEngine
import Foundation
import NestModel
import NestProtocol

/// Durable commits of the engine with journal and undo, against SQLite alone writing the same rows and a log of the
/// same size.
struct JournalCost {
    let report: Report
    let rounds: Int
    let directory: String

    private static let blocks = 6

    func run() throws {
        let directory = "\(self.directory)/nestbench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for perCommit in [1, 64] { try self.measure(perCommit, directory) }
    }

    private func measure(_ perCommit: Int, _ directory: String) throws {
        let path = "\(directory)/\(perCommit).sqlite"
        let log = try self.logRow(perCommit, path)
        let subject = try EngineSubject(.nestedList, path: path)
        let sqlite = try SQLiteLimit(directory: directory)
        let rows = max(200, perCommit * 40)
        var measurement = Measurement(
            workload: "results",
            parameters: "journal, \(perCommit) row\(perCommit == 1 ? "" : "s") a commit",
            unit: "us",
            nest: [],
            limitName: "SQLite alone with a log of \(log.headers) + \(log.changes) B a commit, FULL; time of a commit",
            limit: [],
            isTime: true,
            wanted: "ratio 1.4, better 1.2"
        )
        for round in 0..<self.rounds {
            Progress.show("journal, \(perCommit) a commit: round \(round + 1)")
            let disk = try Disk.syncsPerSecond(in: directory)
            let medians = try Turns.medians(Self.blocks) {
                [try Self.commit(rows, perCommit, subject) * Double(perCommit) / Double(rows) * 1e6]
            } _: {
                let meter = HardwareMeter()
                let rate = try sqlite.insert(rows: rows, perTransaction: perCommit, log: log)
                measurement.limitUse.append(meter.stop(syncs: rows / perCommit, disk: disk))
                return [1e6 * Double(perCommit) / rate]
            }
            measurement.nest.append(medians[0].nest)
            measurement.limit.append(medians[0].limit)
        }
        Progress.clear()
        sqlite.close()
        try subject.close()
        self.report.add(measurement)
    }

    /// Returns the size of a commit's row in the journal, measured in a first run of 20 commits.
    private func logRow(_ perCommit: Int, _ path: String) throws -> SQLiteLimit.LogRow {
        let subject = try EngineSubject(.nestedList, path: path)
        _ = try Self.commit(perCommit * 20, perCommit, subject)
        try subject.close()
        return try SQLiteLimit.logRow(ofStore: path)
    }

    /// Inserts rows under the root. Returns the seconds.
    private static func commit(_ rows: Int, _ perCommit: Int, _ subject: EngineSubject) throws -> Double {
        let group = [Mutation](repeating: Load.insert(under: ObjectID(1)), count: perCommit)
        let groups = [[Mutation]](repeating: group, count: rows / perCommit)
        return try subject.time(groups, Turns.wallTime).time
    }
}
