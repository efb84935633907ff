import NestStore

/// Which stores a database has logs of, and whether this program understands its tables.
struct LogCatalog {
    private let session: PostgresSession

    init(_ session: PostgresSession) {
        self.session = session
    }

    /// The version of the tables; `nil` if there are none.
    func version() throws(LogFailure) -> Int32? {
        guard try !self.session.perform(Self.findFormat, []).rows.isEmpty else { return nil }
        let row = try self.session.perform(Self.format, []).rows.first
        guard let row else { return nil }
        return try PostgresLog.read { () throws(PostgresFailure) in row.isNull(0) ? nil : try row.int(0) }
    }

    /// Throws unless the tables are those of this program.
    func checkVersion() throws(LogFailure) {
        guard let version = try self.version() else {
            throw .unusable("this database has no log of nest: make one with 'nestd cluster init'")
        }
        guard version == LogSchema.version else {
            throw .unusable(
                "the log's tables have version \(version), and this nestd knows \(LogSchema.version): "
                    + (version > LogSchema.version
                        ? "install a newer nestd"
                        : "read what the release notes say about upgrading the log")
            )
        }
    }

    /// The number of a store that has records.
    func store(named name: String) throws(LogFailure) -> Int64 {
        try self.checkVersion()
        guard let store = try self.reserved(name), try self.hasRecords(store) else {
            throw .unusable("the log has no store '\(name)': bring one in with 'nestd cluster init'")
        }
        return store
    }

    /// The number of a store, with or without records.
    func reserved(_ name: String) throws(LogFailure) -> Int64? {
        let row = try self.session.perform(Self.find, [.text(name)]).rows.first
        return try PostgresLog.read { () throws(PostgresFailure) in try row?.long(0) }
    }

    func hasRecords(_ store: Int64) throws(LogFailure) -> Bool {
        let row = try self.session.perform(Self.records, [.long(store)]).rows.first
        return try PostgresLog.read { () throws(PostgresFailure) in try row?.bool(0) ?? false }
    }

    private static let findFormat = PostgresStatement("find_format", [], LogSchema.findFormat)
    private static let format = PostgresStatement("format", [], "SELECT max(version) FROM nest.format")
    private static let find = PostgresStatement("find", [.text], "SELECT store FROM nest.store WHERE name = $1")
    private static let records = PostgresStatement(
        "has_records",
        [.long],
        "SELECT EXISTS (SELECT FROM nest.log WHERE store = $1)"
    )
}
