import NestModel
import NestProtocol
import NestSchema

/// Checks a whole store at one revision: SQLite's structures, then nest's rules for the objects, then the journal.
/// Blocks, reads everything, writes nothing.
struct StoreCheck {
    private let connection: Connection
    private let layout: ModelLayout
    private var problems: [String] = []
    private var problemCount = 0

    /// Precondition: `connection` is in a read transaction.
    init(_ connection: Connection, _ layout: ModelLayout) {
        self.connection = connection
        self.layout = layout
    }

    /// Runs all steps of the check. `progress` is called before each step.
    mutating func run(progress: (CheckStep) -> Void) throws(StoreError) -> CheckReport {
        let count = self.layout.entities.count + 4 + (self.layout.hasLargeValues ? 1 : 0)
        var number = 0
        func begin(_ name: String) {
            number += 1
            progress(CheckStep(name: name, number: number, count: count))
        }
        begin("pages and indexes")
        try self.runPragma("integrity_check(\(Limits.checkProblemsMax))") { statement in
            let line = statement.text(0)
            return line == "ok" ? nil : "SQLite: \(line)"
        }
        // The following steps need tables that SQLite can read.
        guard self.problemCount == 0 else { return self.report(Revision(0), objectCount: 0) }
        begin("references")
        try self.runPragma("foreign_key_check") { statement in
            "\(statement.text(0)) #\(statement.integer(1)): refers to an object that is not in \(statement.text(2))"
        }
        // A store of an older format has no such table.
        let hasReserved = try ReservedIDs.hasTable(self.connection)
        var objectCount = 0
        for table in self.layout.entities {
            begin(table.isJoin ? "pairs of \(table.name)" : "objects of \(table.name)")
            for rule in StoreRules.of(table, in: self.layout) { try self.check(rule, table) }
            if hasReserved { try self.check(StoreRules.ofReserved(table), table) }
            if !table.isJoin { objectCount += try self.objectCount(table) }
        }
        if self.layout.hasLargeValues {
            begin("large values")
            var found: [String] = []
            try ValueRules(self.connection, self.layout).check { found.append($0) }
            for problem in found { self.add(problem) }
        }
        begin("journal")
        let revision = try self.checkJournal()
        begin("sessions")
        let connection = self.connection
        try self.reading { () throws(StoreError) in _ = try Store.sessions(connection) }
        try self.reading { () throws(StoreError) in _ = try Store.blocked(connection) }
        return self.report(revision, objectCount: objectCount)
    }

    private func report(_ revision: Revision, objectCount: Int) -> CheckReport {
        CheckReport(
            revision: revision,
            objectCount: objectCount,
            problems: self.problems,
            problemCount: self.problemCount
        )
    }

    private mutating func add(_ problem: String) {
        self.problemCount += 1
        guard self.problems.count < Limits.checkProblemsMax else { return }
        self.problems.append(problem.cut(toUTF8: Limits.checkProblemBytesMax))
    }

    private mutating func runPragma(_ pragma: String, _ problem: (Statement) -> String?) throws(StoreError) {
        let statement = try self.connection.prepare("PRAGMA \(pragma)")
        defer { statement.reset() }
        while try statement.step() {
            if let problem = problem(statement) { self.add(problem) }
        }
    }

    private mutating func check(_ rule: StoreRules.Rule, _ table: EntityLayout) throws(StoreError) {
        let statement = try self.connection.prepare(rule.sql)
        defer { statement.reset() }
        while try statement.step() {
            let id = statement.integer(0)
            if !self.connection.hidden.contains(ObjectID(id)) { self.add("\(table.name) #\(id): \(rule.name)") }
        }
    }

    private func objectCount(_ table: EntityLayout) throws(StoreError) -> Int {
        let terms = ["true"] + self.connection.hidden.exclusions(of: "id")
        let statement = try self.connection.prepare(
            "SELECT count(*) FROM \(EntitySQL.quoted(table.name)) WHERE \(terms.joined(separator: " AND "))"
        )
        defer { statement.reset() }
        return try statement.step() ? Int(statement.integer(0)) : 0
    }

    /// Runs `body`. Data that it cannot read is a problem of the store, not a failure of the check.
    private mutating func reading(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        do {
            try body()
        } catch StoreError.corrupt(_, let reason) {
            self.add(reason)
        }
    }

    /// Checks that the journal has every revision once, without a gap and with all its blocks, and that each can be
    /// read. Returns the newest revision.
    private mutating func checkJournal() throws(StoreError) -> Revision {
        let journal = Journal(connection: self.connection, layout: self.layout)
        let newest = try journal.newest()?.revision ?? Revision(0)
        try self.checkRows()
        var last: Revision?
        var gaps: [String] = []
        try self.reading { () throws(StoreError) in
            try journal.forEachEntry(after: Revision(0)) { (header, inline) throws(StoreError) in
                if let last, header.revision != last.next { gaps.append("revision \(header.revision) follows \(last)") }
                last = header.revision
                try journal.forEachChange(header, inline, { _ in })
            }
        }
        if let last, last != newest { gaps.append("the last revision is \(last), but the store is at \(newest)") }
        for gap in gaps { self.add("the journal: \(gap)") }
        return newest
    }

    /// Checks that each row begins where the previous row ends, and that each block belongs to a row.
    private mutating func checkRows() throws(StoreError) {
        let isPreparing = try PreparedRows.read(self.connection) != nil
        let queries = [
            (
                "the row of the revision does not begin where the previous row ends",
                """
                SELECT last_revision FROM (
                    SELECT last_revision, first_revision, lag(last_revision) OVER (ORDER BY last_revision) AS before
                    FROM nest_journal
                ) WHERE before NOTNULL AND first_revision <> before + 1
                """
            ),
            (
                "there is a block of this revision, but the revision is not in the journal",
                """
                SELECT DISTINCT revision FROM nest_journal_block
                WHERE (revision < (SELECT min(first_revision) FROM nest_journal)
                    OR revision > (SELECT max(last_revision) FROM nest_journal))
                    \(isPreparing ? "AND revision <> \(PreparedBlocks.revision)" : "")
                """
            ),
        ]
        for (problem, sql) in queries {
            let statement = try self.connection.prepare(sql)
            defer { statement.reset() }
            while try statement.step() { self.add("the journal, revision \(statement.integer(0)): \(problem)") }
        }
    }
}

extension String {
    /// Returns the longest prefix of whole characters that has at most `max` bytes.
    fileprivate func cut(toUTF8 max: Int) -> String {
        var cut = self
        while cut.utf8.count > max { cut.removeLast() }
        return cut
    }
}
