import NestModel

/// The tables of a store. One table per entity with real columns, so that a person can read the file with `sqlite3`;
/// nest's own tables and columns begin with `nest_`.
enum Schema {
    /// Raised when a store of an older build can no longer be read. Written to `PRAGMA user_version`.
    static let version: Int64 = 1
    /// "nest" in ASCII, in `PRAGMA application_id`: tells a store from any other SQLite file.
    static let applicationID: Int64 = 0x6e65_7374

    static let ownTables = [
        "CREATE TABLE nest_meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        // One row per group commit. `headers` tells who did what; `changes` holds the small change sets of the group.
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
        "CREATE TABLE nest_session (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE)",
    ]

    /// Columns of a property; SQLite names are not case-sensitive, and `id` is the object id.
    static func column(_ name: String) -> String {
        name.lowercased() == "id" ? "\"\(name)_\"" : "\"\(name)\""
    }

    static func table(_ entity: EntityDescription) -> String { "\"\(entity.name)\"" }

    static func positionColumn(_ relationship: RelationshipDescription) -> String {
        "\"nest_\(relationship.name)_position\""
    }

    /// The revision of the placement.
    static func placedColumn(_ relationship: RelationshipDescription) -> String {
        "\"nest_\(relationship.name)_placed\""
    }

    static func statements(_ layout: ModelLayout) -> [String] {
        layout.entities.flatMap { Self.statements($0, layout) }
    }

    private static func statements(_ layout: EntityLayout, _ model: ModelLayout) -> [String] {
        let entity = layout.entity
        var columns = ["id INTEGER PRIMARY KEY", "nest_revision INTEGER NOT NULL"]
        var places: [String] = []
        var indexes: [String] = []
        for slot in layout.slots {
            switch slot {
            case .attribute(let attribute):
                // Required is checked by the engine, which reports everything that is wrong at once.
                columns.append("\(Self.column(attribute.name)) \(Self.type(attribute.type))")
            case .toOne(let relationship, let place):
                let name = Self.column(relationship.name)
                // A sound model has the destination: checked before a store opens.
                let destination = model[relationship.destination]!.entity
                columns.append(
                    "\(name) INTEGER REFERENCES \(Self.table(destination)) (id) DEFERRABLE INITIALLY DEFERRED"
                )
                var index = name
                if place != nil {
                    places += [
                        "\(Self.positionColumn(relationship)) INTEGER", "\(Self.placedColumn(relationship)) INTEGER",
                    ]
                    index += ", \(Self.positionColumn(relationship))"
                }
                indexes.append(
                    "CREATE INDEX \"nest_\(entity.name)_\(relationship.name)\" ON \(Self.table(entity)) (\(index))"
                )
            }
        }
        let table =
            "CREATE TABLE \(Self.table(entity)) (\n    " + (columns + places).joined(separator: ",\n    ") + "\n)"
        return [table] + indexes
    }

    private static func type(_ type: AttributeType) -> String {
        switch type {
        case .string: "TEXT"
        case .integer, .boolean, .date: "INTEGER"
        case .double: "REAL"
        case .data, .uuid: "BLOB"
        }
    }
}
