import NestModel
import NestSchema

/// The tables of a store. One table per entity with real columns, so that a person can read the file with `sqlite3`;
/// nest's own tables and columns begin with `nest_`.
enum Schema {
    /// Raised when an older build could not read the store any more. Written to `PRAGMA user_version`.
    static let version: Int64 = 5
    /// Stores from this format on are brought up to date when they are opened.
    static let oldestVersion: Int64 = 2
    /// "nest" in ASCII, in `PRAGMA application_id`: distinguishes a store from any other SQLite file.
    static let applicationID: Int64 = 0x6e65_7374

    /// Refuses a format that this program does not read.
    static func checkVersion(_ version: Int64, path: String) throws(StoreError) {
        guard !(self.oldestVersion...self.version).contains(version) else { return }
        let advice =
            version > self.version
            ? "a newer nestd made it: start that one" : "export its objects with the nestd that made it"
        throw .otherFormat(
            path: path,
            reason: "it is version \(version), this nestd reads \(self.oldestVersion) to \(self.version); \(advice)"
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
        // The entities by number: what `nest_entity` in a table of several says.
        "CREATE TABLE nest_entity (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
        // `written`: about when it wrote last, in microseconds since 1970-01-01 UTC.
        "CREATE TABLE nest_session (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, written INTEGER NOT NULL DEFAULT 0)",
        Self.blockedTable,
        Self.tokenTable,
    ]

    /// Undo entries, by their newest revision, that are passed over because their undo would have changed nothing.
    /// `answer`: what answers the same request again, when it had an idempotency key.
    private static let blockedTable = "CREATE TABLE nest_blocked (revision INTEGER PRIMARY KEY, answer BLOB)"

    /// Who may connect. `hash`: SHA-256 of the token's secret; `name` and `role` are there for people, `grant_bytes`
    /// says all.
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

    /// What a store of format 2 lacks.
    static let fromFormat2 = [
        "ALTER TABLE nest_session ADD COLUMN written INTEGER NOT NULL DEFAULT 0",
        "UPDATE nest_session SET written = (SELECT ifnull(max(time), 0) FROM nest_journal)",
        Self.blockedTable,
    ]

    /// What a store of format 2 or 3 lacks.
    static let fromFormat3 = [Self.tokenTable]

    /// What a store of every format before this one lacks. Since format 5 a journal header may have a token scope.
    static let fromAnyFormat = ["PRAGMA user_version = \(Self.version)"]

    static func statements(_ layout: ModelLayout) -> [String] {
        layout.entities.flatMap { [Self.table($0, layout, name: $0.name)] + Self.indexes($0) }
    }

    /// `CREATE TABLE` of a layout, under its own name or another while it is being rebuilt.
    static func table(_ layout: EntityLayout, _ model: ModelLayout, name: String) -> String {
        let sql = EntitySQL(layout)
        var columns = ["id INTEGER PRIMARY KEY", "nest_revision INTEGER NOT NULL"]
        if layout.hasKinds { columns.append("nest_entity INTEGER NOT NULL REFERENCES nest_entity (number)") }
        var places: [String] = []
        for (slot, description) in layout.slots.enumerated() {
            switch description {
            case .attribute(let attribute):
                // Required is checked by the engine, which reports everything that is wrong at once.
                columns.append("\(sql.columns[slot]) \(Self.type(attribute.type))")
            case .toOne(let relationship, let place):
                // A sound model has the destination: checked before a store opens.
                let table = EntitySQL.quoted(model[relationship.destination]!.name)
                columns.append("\(sql.columns[slot]) INTEGER REFERENCES \(table) (id) DEFERRABLE INITIALLY DEFERRED")
                if let place { places += ["\(sql.position(place)) INTEGER", "\(sql.placed(place)) INTEGER"] }
            }
        }
        let list = (columns + places).joined(separator: ",\n    ")
        return "CREATE TABLE \(EntitySQL.quoted(name)) (\n    \(list)\n) STRICT"
    }

    /// `CREATE INDEX` for relationships, uniqueness and what the model wants looked up.
    static func indexes(_ layout: EntityLayout) -> [String] {
        let sql = EntitySQL(layout)
        var indexes: [[String]] = []
        for (slot, description) in layout.slots.enumerated() {
            guard case .toOne(_, let place) = description else { continue }
            indexes.append([sql.columns[slot]] + (place.map { [sql.position($0)] } ?? []))
        }
        if layout.isJoin { indexes.append(sql.columns) }
        indexes += layout.indexes.map { $0.map { sql.columns[$0] } }
        // One that begins another serves nothing that the other does not.
        let needed = indexes.enumerated().filter { index, columns in
            !indexes.enumerated().contains { other, longer in
                longer.starts(with: columns) && (longer.count > columns.count || other < index)
            }
        }
        return needed.map { _, columns in
            let names = columns.map { String($0.dropFirst().dropLast()) }.joined(separator: ",")
            let name = EntitySQL.quoted("nest_\(layout.name)(\(names))")
            return "CREATE INDEX \(name) ON \(sql.table) (\(columns.joined(separator: ", ")))"
        }
    }

    private static func type(_ type: AttributeType) -> String {
        switch type {
        case .string, .decimal, .uri: "TEXT"
        case .integer, .integer16, .integer32, .boolean, .date: "INTEGER"
        case .double, .float: "REAL"
        case .data, .uuid: "BLOB"
        }
    }
}
