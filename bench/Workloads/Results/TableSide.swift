import BenchEngine
import NestModel
import NestProtocol

/// One side of a comparison of commits: an engine with rows to change. Connection 1 writes; connection 2 is free to
/// subscribe.
struct TableSide {
    let subject: EngineSubject
    /// The lists of the store. The rows are in the first.
    let lists: [ObjectID]
    var table: Table

    /// Creates a store in memory with `rows` rows, in the first of `count` lists.
    init(_ rows: Int, lists count: Int = 0) throws {
        self.subject = try EngineSubject(TableModel.model)
        self.lists = try TableModel.makeLists(count, self.subject)
        self.table = Table(list: self.lists.first)
        try self.table.fill(self.subject, rows) { Progress.show("\(rows) rows:", $0, of: rows) }
        Progress.clear()
        self.subject.connect(1)
    }

    /// Runs `commits` commits for each kind of change. Returns the microseconds of a commit for each kind.
    mutating func block(_ commits: Int, by key: SortedBy, isSubscribed: Bool) throws -> [Double] {
        try Table.Change.allCases.map { change in
            let run = try self.table.time(change, commits, by: key, self.subject, Turns.threadTime)
            precondition(run.pushCount == (isSubscribed ? commits : 0), "each commit is one diff to a subscriber")
            return run.time / Double(commits) * 1e6
        }
    }
}
