import NestModel
import NestSchema

/// The SQL of a store's tables. There is one table per entity with real columns, so that a person can read the file
/// with `sqlite3`; the names of nest's own tables and columns begin with `nest_`.
enum Schema {
    /// Incremented when older builds can no longer read the store. Written to `PRAGMA user_version`.
    static let version: Int64 = 10
    /// The format of a store of a cluster, which has the table `nest_log`: an older nestd would write it without the
    /// cluster's log.
    static let clusterVersion: Int64 = 11
    /// The format of a store while it has hidden rows (`PreparedRows`): an older nestd would show them.
    static let preparingVersion: Int64 = 12
    /// The cluster's formats before tokens had an expiry, and before sessions reserved ids. Their table `nest_log` is
    /// the same.
    private static let olderClusterVersions: Set<Int64> = [6, 8]
    /// The format of a store with hidden rows before sessions reserved ids.
    private static let olderPreparingVersion: Int64 = 9
    /// The oldest format that is upgraded when a store is opened.
    static let oldestVersion: Int64 = 2
    /// "nest" in ASCII, in `PRAGMA application_id`: distinguishes a store from any other SQLite file.
    static let applicationID: Int64 = 0x6e65_7374

    /// Refuses a format that this program does not read.
    static func checkVersion(_ version: Int64, path: String) throws(StoreError) {
        guard !(self.oldestVersion...self.preparingVersion).contains(version) else { return }
        let advice =
            version > self.preparingVersion
            ? "a newer nestd made it: use that version" : "export its objects with the nestd that made it"
        throw .otherFormat(
            path: path,
            reason: "it has version \(version), this nestd reads \(self.oldestVersion) to \(self.preparingVersion); "
                + advice
        )
    }

    static let ownTables = [
        "CREATE TABLE nest_meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
        // One row per group commit. `headers` has one header per request; `changes` holds the small change sets of the
        // group.
        """
        CREATE TABLE nest_journal (
            last_revision INTEGER PRIMARY KEY,
            first_revision INTEGER NOT NULL,
            next_object_id INTEGER NOT NULL,
            time INTEGER NOT NULL,
            headers BLOB NOT NULL,
            changes BLOB NOT NULL
        )
        """,
        // The change sets of bulk writes, in blocks.
        """
        CREATE TABLE nest_journal_block (
            revision INTEGER NOT NULL,
            number INTEGER NOT NULL,
            bytes BLOB NOT NULL,
            PRIMARY KEY (revision, number)
        ) WITHOUT ROWID
        """,
        // The name of each entity number in the column `nest_entity`, which tables of several entities have.
        "CREATE TABLE nest_entity (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
        // `written`: the approximate time of the last write, in microseconds since 1970-01-01 UTC.
        "CREATE TABLE nest_session (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, written INTEGER NOT NULL DEFAULT 0)",
        Self.blockedTable,
        Self.tokenTable,
        Self.reservedTable,
    ]

    /// Undo entries, by their newest revision, that undo skips because undoing them would change nothing. `answer`: the
    /// stored reply for an idempotent retry, if the request had a key.
    private static let blockedTable = "CREATE TABLE nest_blocked (revision INTEGER PRIMARY KEY, answer BLOB)"

    /// The access tokens. `hash`: SHA-256 of the token's secret. `grant_bytes`: the complete grant; `name` and `role`
    /// repeat parts of it for people who read the file.
    private static let tokenTable = """
        CREATE TABLE nest_token (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            hash BLOB NOT NULL UNIQUE,
            grant_bytes BLOB NOT NULL,
            name TEXT NOT NULL,
            role TEXT NOT NULL,
            created INTEGER NOT NULL,
            last_used INTEGER NOT NULL
        ) STRICT
        """

    /// The ids that sessions have reserved and that no object has had yet, in pieces.
    private static let reservedTable = """
        CREATE TABLE IF NOT EXISTS nest_reserved (
            session INTEGER NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            PRIMARY KEY (session, first)
        ) STRICT, WITHOUT ROWID
        """

    /// The place of a store of a cluster in the cluster's log: `LogState`, in one row. Equal on all nodes.
    static let logTable = """
        CREATE TABLE nest_log (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            store INTEGER NOT NULL,
            position INTEGER NOT NULL,
            chain BLOB NOT NULL,
            epoch INTEGER NOT NULL,
            node BLOB NOT NULL,
            time INTEGER NOT NULL,
            timeline INTEGER NOT NULL,
            replicated INTEGER NOT NULL
        ) STRICT
        """

    /// The statements that upgrade a store of format 2.
    static let fromFormat2 = [
        "ALTER TABLE nest_session ADD COLUMN written INTEGER NOT NULL DEFAULT 0",
        "UPDATE nest_session SET written = (SELECT ifnull(max(time), 0) FROM nest_journal)",
        Self.blockedTable,
    ]

    /// The statements that upgrade a store of format 2 or 3.
    static let fromFormat3 = [Self.tokenTable]

    /// The statements that upgrade a store of format 2 to 9.
    static let fromFormat9 = [Self.reservedTable]

    /// The statement that ends an upgrade of a store of any older format. Since format 5 a journal header may have a
    /// token scope; since format 7 a header may have a user, and a token a user and an expiry, which an older nestd
    /// would not enforce; since format 10 sessions may have reserved ids, which an older nestd would give to others.
    static func setVersion(from version: Int64) -> String {
        let current =
            if self.isOfCluster(version) {
                self.clusterVersion
            } else if version == self.olderPreparingVersion {
                self.preparingVersion
            } else {
                self.version
            }
        return "PRAGMA user_version = \(current)"
    }

    /// Whether a store of this format belongs to a cluster.
    static func isOfCluster(_ version: Int64) -> Bool {
        version == self.clusterVersion || self.olderClusterVersions.contains(version)
    }

    static func statements(_ layout: ModelLayout) -> [String] {
        layout.entities.flatMap { [Self.table($0, layout, name: $0.name)] + Self.indexes($0) }
    }

    /// Returns the `CREATE TABLE` statement of a layout. `name`: the layout's own name, or a temporary one while the
    /// table is rebuilt.
    static func table(_ layout: EntityLayout, _ model: ModelLayout, name: String) -> String {
        var columns = ["id INTEGER PRIMARY KEY", "nest_revision INTEGER NOT NULL"]
        if layout.hasKinds { columns.append("nest_entity INTEGER NOT NULL REFERENCES nest_entity (number)") }
        var places: [String] = []
        for slot in layout.slots.indices {
            let (column, ofPlace) = self.columns(slot, layout, model)
            columns.append(column)
            places += ofPlace
        }
        let list = (columns + places).joined(separator: ",\n    ")
        return "CREATE TABLE \(EntitySQL.quoted(name)) (\n    \(list)\n) STRICT"
    }

    /// Returns the definitions of a slot's column, and of those of its place if it has one.
    static func columns(_ slot: Int, _ layout: EntityLayout, _ model: ModelLayout) -> (own: String, place: [String]) {
        let sql = EntitySQL(layout)
        switch layout.slots[slot] {
        case .attribute(let attribute):
            // No NOT NULL: the object graph checks required values, so that it can report all faults of a request
            // together.
            return ("\(sql.columns[slot]) \(Self.type(attribute.type))", [])
        case .toOne(let relationship, let place):
            // The destination exists: `Store.init` refuses an invalid model.
            let table = EntitySQL.quoted(model[relationship.destination]!.name)
            let own = "\(sql.columns[slot]) INTEGER REFERENCES \(table) (id) DEFERRABLE INITIALLY DEFERRED"
            return (own, place.map { ["\(sql.position($0)) INTEGER", "\(sql.placed($0)) INTEGER"] } ?? [])
        }
    }

    /// Returns the `CREATE INDEX` statements for relationships, uniqueness constraints and the model's own indexes.
    static func indexes(_ layout: EntityLayout) -> [String] { self.namedIndexes(layout).map(\.sql) }

    /// Returns the same statements, each with the quoted name of its index.
    static func namedIndexes(_ layout: EntityLayout) -> [(name: String, sql: String)] {
        let sql = EntitySQL(layout)
        var indexes: [[String]] = []
        for (slot, description) in layout.slots.enumerated() {
            guard case .toOne(_, let place) = description else { continue }
            indexes.append([sql.columns[slot]] + (place.map { [sql.position($0)] } ?? []))
        }
        if layout.isJoin { indexes.append(sql.columns) }
        indexes += layout.indexes.map { $0.map { sql.columns[$0] } }
        // An index whose columns are the first columns of another index is redundant.
        let needed = indexes.enumerated().filter { index, columns in
            !indexes.enumerated().contains { other, longer in
                longer.starts(with: columns) && (longer.count > columns.count || other < index)
            }
        }
        return needed.map { _, columns in
            let names = columns.map { String($0.dropFirst().dropLast()) }.joined(separator: ",")
            let name = EntitySQL.quoted("nest_\(layout.name)(\(names))")
            return (name, "CREATE INDEX \(name) ON \(sql.table) (\(columns.joined(separator: ", ")))")
        }
    }

    private static func type(_ type: AttributeType) -> String {
        switch type {
        case .string, .decimal, .uri: "TEXT"
        case .integer, .integer16, .integer32, .boolean, .date: "INTEGER"
        case .double, .float: "REAL"
        case .data, .uuid, .largeData, .largeText: "BLOB"
        }
    }
}
