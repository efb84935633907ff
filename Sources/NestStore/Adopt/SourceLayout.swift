/// The tables of a store of Core Data: what its file says about itself.
struct SourceLayout: Equatable {
    struct Column: Equatable {
        /// As the file spells it.
        var name: String
        /// The declared type, in capitals.
        var type: String
    }

    struct Table: Equatable {
        var name: String
        /// By name in capitals.
        var columns: [String: Column] = [:]
        /// Whether `Z_PK` is the primary key, so that looking an object up is fast.
        var hasPrimaryKey = false

        /// The quoted name.
        var sql: String { AdoptSource.quoted(self.name) }
    }

    struct Entity: Equatable {
        var number: Int64
        /// The number of the parent, or 0.
        var parent: Int64
    }

    /// By name in capitals.
    var tables: [String: Table] = [:]
    var entities: [String: Entity] = [:]

    /// Core Data numbers the entities of its history and of its synchronization from here on.
    private static let ownEntities: Int64 = 16_000

    init(tables: [String: Table] = [:], entities: [String: Entity] = [:]) {
        self.tables = tables
        self.entities = entities
    }

    init(_ source: AdoptSource) throws {
        // A view or a virtual table is none of Core Data's.
        let names = try source.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'create virtual%' ORDER BY name"
        )
        while try names.next() {
            let name = names.text(0)
            guard !name.lowercased().hasPrefix("sqlite_") else { continue }
            self.tables[name.uppercased()] = try Self.table(name, source)
        }
        for name in ["Z_PRIMARYKEY", "Z_METADATA"] where self.tables[name] == nil {
            throw AdoptFailure(.damaged, "\(source.path) is not a store of Core Data: it has no table \(name)")
        }
        try self.readEntities(source)
    }

    private static func table(_ name: String, _ source: AdoptSource) throws -> Table {
        var table = Table(name: name)
        let rows = try source.rows("PRAGMA table_info(\(AdoptSource.quoted(name)))")
        while try rows.next() {
            let column = Column(name: rows.text(1), type: rows.text(2).uppercased())
            table.columns[column.name.uppercased()] = column
            if column.name.uppercased() == "Z_PK", column.type == "INTEGER", rows.integer(5) == 1 {
                table.hasPrimaryKey = true
            }
        }
        return table
    }

    private mutating func readEntities(_ source: AdoptSource) throws {
        let columns = self.tables["Z_PRIMARYKEY"]!.columns
        for name in ["Z_ENT", "Z_NAME", "Z_SUPER"] where columns[name] == nil {
            throw AdoptFailure(.damaged, "\(source.path) is not a store of Core Data: Z_PRIMARYKEY has no \(name)")
        }
        let rows = try source.rows("SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY ORDER BY Z_ENT")
        var last: Int64 = 0
        while try rows.next() {
            let number = rows.integer(0)
            guard number > 0, number < Self.ownEntities else { continue }
            let name = rows.text(1)
            let former = self.entities.updateValue(Entity(number: number, parent: rows.integer(2)), forKey: name)
            guard former == nil, number != last else {
                throw AdoptFailure(
                    .damaged,
                    "\(source.path) is damaged: Z_PRIMARYKEY has the entity \(name) or its number twice"
                )
            }
            last = number
        }
    }
}
