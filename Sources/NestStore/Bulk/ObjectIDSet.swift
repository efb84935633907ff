import NestModel

/// A set of object ids in bounded memory. It stores runs of consecutive ids, of which one import or delete mostly makes
/// a few. More than `BulkMemory.countMax` runs go to a temporary table.
///
/// Use it inside one transaction: a rollback deletes its rows of the table. A reference type, so that passing on a plan
/// does not copy it.
final class ObjectIDSet {
    private let memory: BulkMemory
    /// The run that was extended last. It is not in `runs`.
    private var current: Range<Int64> = 0..<0
    private var runs = RangeSet<Int64>()
    private var spilled: SpilledRuns?

    init(_ memory: BulkMemory) {
        self.memory = memory
    }

    private(set) var isEmpty = true

    /// The number of runs in memory.
    var runCount: Int { self.runs.ranges.count + (self.current.isEmpty ? 0 : 1) }
    var isSpilled: Bool { self.spilled != nil }

    /// Inserts an id. O(1) for an id next to the previous one.
    func insert(_ id: ObjectID) throws(StoreError) {
        self.isEmpty = false
        let value = id.rawValue
        if self.isSpilled, try self.contains(id) {
            // Already in the table, whose runs must not overlap.
        } else if value == self.current.upperBound, !self.current.isEmpty {
            self.current = self.current.lowerBound..<(value + 1)
        } else if value + 1 == self.current.lowerBound, !self.current.isEmpty {
            self.current = value..<self.current.upperBound
        } else {
            try self.closeRun()
            self.current = 0..<0
            if self.isSpilled, try self.contains(id) { return }
            self.current = value..<(value + 1)
        }
    }

    private func closeRun() throws(StoreError) {
        guard !self.current.isEmpty else { return }
        if let spilled { return try spilled.insert(self.current) }
        self.runs.insert(contentsOf: self.current)
        guard self.runs.ranges.count > self.memory.countMax else { return }
        self.spilled = try SpilledRuns(self.runs, self.memory.connection)
        self.runs = RangeSet()
    }

    func contains(_ id: ObjectID) throws(StoreError) -> Bool {
        if self.isEmpty { return false }
        if self.current.contains(id.rawValue) { return true }
        if let spilled { return try spilled.contains(id.rawValue) }
        return self.runs.contains(id.rawValue)
    }

    /// Deletes its rows of the temporary table. The last call.
    func discard() throws(StoreError) {
        try self.spilled?.discard()
        (self.spilled, self.runs, self.current, self.isEmpty) = (nil, RangeSet(), 0..<0, true)
    }
}

/// Runs of numbers in a temporary table, which SQLite keeps in its own file. The runs do not overlap.
private final class SpilledRuns {
    private let connection: Connection
    private let number: Int64

    init(_ runs: RangeSet<Int64>, _ connection: Connection) throws(StoreError) {
        try connection.execute(
            """
            CREATE TEMP TABLE IF NOT EXISTS nest_run (
                number INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL, PRIMARY KEY (number, first)
            ) WITHOUT ROWID
            """
        )
        self.connection = connection
        let statement = try connection.statement("SELECT ifnull(max(number), 0) + 1 FROM temp.nest_run")
        defer { statement.reset() }
        _ = try statement.step()
        self.number = statement.integer(0)
        for run in runs.ranges { try self.insert(run) }
    }

    func insert(_ run: Range<Int64>) throws(StoreError) {
        let statement = try self.connection.statement(
            "INSERT INTO temp.nest_run (number, first, end) VALUES (?1, ?2, ?3)"
        )
        statement.bind(1, self.number)
        statement.bind(2, run.lowerBound)
        statement.bind(3, run.upperBound)
        try statement.run()
    }

    func contains(_ value: Int64) throws(StoreError) -> Bool {
        let statement = try self.connection.statement(
            "SELECT end FROM temp.nest_run WHERE number = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1"
        )
        defer { statement.reset() }
        statement.bind(1, self.number)
        statement.bind(2, value)
        return try statement.step() && value < statement.integer(0)
    }

    func discard() throws(StoreError) {
        let statement = try self.connection.statement("DELETE FROM temp.nest_run WHERE number = ?1")
        statement.bind(1, self.number)
        try statement.run()
    }
}
