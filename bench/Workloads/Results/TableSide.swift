import BenchEngine
import NestModel
import NestProtocol

/// One side of a comparison of commits: an engine, and rows to change in it. Connection 1 writes, 2 is free to subscribe.
struct TableSide {
    let subject: EngineSubject
    /// Those that the rows may be in.
    let lists: [ObjectID]
    var table: Table

    /// A store in memory with so many rows, in the first of so many lists.
    init(_ rows: Int, lists count: Int = 0) throws {
        self.subject = try EngineSubject(TableModel.model)
        self.lists = try TableModel.makeLists(count, self.subject)
        self.table = Table(list: self.lists.first)
        try self.table.fill(self.subject, rows) { Progress.show("\(rows) rows:", $0, of: rows) }
        Progress.clear()
        self.subject.connect(1)
    }

    /// Microseconds of a commit, for each kind of change; so many commits of each.
    mutating func block(_ commits: Int, by key: SortedBy, isSubscribed: Bool) throws -> [Double] {
        try Table.Change.allCases.map { change in
            let run = try self.table.time(change, commits, by: key, self.subject, Turns.threadTime)
            precondition(run.pushCount == (isSubscribed ? commits : 0), "each commit is one diff to a subscriber")
            return run.time / Double(commits) * 1e6
        }
    }
}
