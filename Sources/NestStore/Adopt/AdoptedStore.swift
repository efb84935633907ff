import NestModel
import NestSchema

/// A new store while it is filled with the objects of another one. Its file has a temporary name, and no journal: after
/// a failure it is removed.
struct AdoptedStore {
    private let connection: Connection
    private let layout: ModelLayout
    let tables: [EntityTable]
    private let path: String

    init(_ path: String, _ layout: ModelLayout) throws(StoreError) {
        self.path = path
        self.layout = layout
        self.connection = try Connection(path: path, role: .copy)
        self.tables = layout.entities.map { [connection] in EntityTable($0, connection) }
    }

    var values: ValueTable { ValueTable(self.connection) }

    func close() throws(StoreError) { try self.connection.close() }

    func access<Result>(_ body: () throws -> Result) throws -> Result { try self.connection.access(body) }

    /// Begins a transaction and makes the tables, without indexes and root objects.
    func begin(historyID: Identifier128) throws(StoreError) {
        for pragma in [
            "journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", "cache_size = -65536", "foreign_keys = OFF",
        ] {
            try self.connection.execute("PRAGMA \(pragma)")
        }
        try self.connection.execute("BEGIN IMMEDIATE")
        try Store.makeOwnTables(self.connection, self.layout, historyID: historyID)
        if self.layout.hasLargeValues { try ValueTable.create(self.connection) }
        for table in self.layout.entities {
            try self.connection.execute(Schema.table(table, self.layout, name: table.name))
        }
    }

    /// Inserts the root objects, and returns the first id after them.
    func insertRoots() throws(StoreError) -> Int64 {
        var next: Int64 = 1
        for table in self.tables { next = max(next, try Store.insertRoot(table)) }
        return next
    }

    /// Makes the indexes, which is faster when the rows are there, and gives objects with one position their own.
    func finishTables() throws(StoreError) {
        for table in self.layout.entities {
            for index in Schema.indexes(table) { try self.connection.execute(index) }
            for (place, slot) in table.placedSlots.enumerated() { try self.separate(table, place, slot) }
        }
    }

    /// Numbers the objects of each owner that has two objects with one position: by position, then by id.
    private func separate(_ table: EntityLayout, _ place: Int, _ slot: Int) throws(StoreError) {
        let sql = EntitySQL(table)
        let (owner, position) = (sql.columns[slot], sql.position(place))
        try self.connection.execute(
            "CREATE TEMP TABLE nest_order (id INTEGER PRIMARY KEY, position INTEGER NOT NULL)"
        )
        try self.connection.execute(
            """
            INSERT INTO nest_order SELECT id, row_number() OVER (PARTITION BY \(owner) ORDER BY \(position), id)
            FROM \(sql.table) WHERE \(owner) IN (
                SELECT \(owner) FROM \(sql.table) WHERE \(owner) NOTNULL GROUP BY \(owner), \(position) HAVING count(*) > 1
            ) ORDER BY id
            """
        )
        try self.connection.execute(
            """
            UPDATE \(sql.table) SET \(position) = (
                SELECT o.position * \(SparseOrder.step) FROM nest_order o WHERE o.id = \(sql.table).id
            ) WHERE id IN (SELECT id FROM nest_order)
            """
        )
        try self.connection.execute("DROP TABLE nest_order")
    }

    /// Calls `found` for each object that breaks a rule of stores, with the rule's name.
    func check(_ found: (EntityLayout, String, Int64) -> Void) throws(StoreError) {
        for table in self.layout.entities {
            for rule in StoreRules.of(table, in: self.layout) {
                try self.forEach(rule.sql) { found(table, rule.name, $0) }
            }
            for kind in table.kinds where !table.isJoin && !kind.entity.isAbstract {
                for relationship in kind.entity.relationships { try self.checkCount(relationship, kind, table, found) }
            }
        }
    }

    /// Checks the bounds of a to-many relationship.
    private func checkCount(
        _ relationship: RelationshipDescription,
        _ kind: EntityLayout.Kind,
        _ table: EntityLayout,
        _ found: (EntityLayout, String, Int64) -> Void
    ) throws(StoreError) {
        guard relationship.isToMany,
            !relationship.isOptional || relationship.minimumCount > 0 || relationship.maximumCount > 0
        else { return }
        let related: (table: EntityLayout, slot: Int)?
        if let toMany = table.toMany(relationship.number) {
            related = self.layout[toMany.destination].map { ($0, toMany.inverseSlot) }
        } else {
            related = table.manyToMany(relationship.number).flatMap { pair in
                self.layout[pair.join].map { ($0, pair.ownerSlot) }
            }
        }
        guard let related else { return }
        let other = EntitySQL(related.table)
        var terms: [String] = []
        if !relationship.isOptional { terms.append("n = 0") }
        if relationship.minimumCount > 0 { terms.append("n > 0 AND n < \(relationship.minimumCount)") }
        if relationship.maximumCount > 0 { terms.append("n > \(relationship.maximumCount)") }
        let own = table.hasKinds ? "a.nest_entity = \(kind.number.rawValue)" : "true"
        let sql = """
            SELECT id FROM (
                SELECT a.id AS id, count(b.id) AS n FROM \(EntitySQL(table).table) a
                LEFT JOIN \(other.table) b ON b.\(other.columns[related.slot]) = a.id WHERE \(own) GROUP BY a.id
            ) WHERE \(terms.map { "(\($0))" }.joined(separator: " OR "))
            """
        let name = "\(kind.entity.name).\(relationship.name)"
        try self.forEach(sql) { found(table, "\(name) leads to fewer or more objects than the model allows", $0) }
    }

    private func forEach(_ sql: String, _ body: (Int64) -> Void) throws(StoreError) {
        let statement = try self.connection.prepare(sql)
        defer { statement.reset() }
        while try statement.step() { body(statement.integer(0)) }
    }

    /// Begins the journal and commits.
    func commit() throws(StoreError) { try self.connection.execute("COMMIT") }

    func beginJournal(nextObjectID: Int64) throws(StoreError) {
        try Store.beginJournal(self.connection, nextObjectID: nextObjectID)
    }
}
