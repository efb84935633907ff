import NestModel
import NestSchema

/// The rules of large values.
struct ValueRules {
    private let connection: Connection
    private let layout: ModelLayout

    init(_ connection: Connection, _ layout: ModelLayout) {
        self.connection = connection
        self.layout = layout
    }

    /// Calls `report` with every violation: a row and the table of values disagree, or a value's bytes are not those of
    /// its digest. Reads every value, one piece at a time.
    func check(_ report: (String) -> Void) throws(StoreError) {
        guard try ValueTable.isThere(self.connection) else { return }
        for table in self.layout.entities {
            for slot in table.largeSlots { try self.checkRows(table, slot, report) }
        }
        try self.list(
            "SELECT id FROM nest_value WHERE (object ISNULL) <> (property ISNULL) OR (object ISNULL AND freed NOTNULL)",
            "is set and not set",
            report
        )
        try self.list(
            "SELECT DISTINCT id FROM nest_value_piece WHERE id NOT IN (SELECT id FROM nest_value)",
            "has pieces, but is unknown",
            report
        )
        try self.list(
            "SELECT id FROM nest_value WHERE freed > (SELECT max(last_revision) FROM nest_journal)",
            "was freed by a revision newer than the store",
            report
        )
        try self.checkHeld(report)
        try self.checkBytes(report)
    }

    private func list(_ sql: String, _ problem: String, _ report: (String) -> Void) throws(StoreError) {
        let statement = try self.connection.prepare(sql)
        defer { statement.reset() }
        while try statement.step() { report("large value \(statement.integer(0)) \(problem)") }
    }

    private func checkRows(_ table: EntityLayout, _ slot: Int, _ report: (String) -> Void) throws(StoreError) {
        let sql = EntitySQL(table)
        let statement = try self.connection.prepare(
            """
            SELECT t.id FROM \(sql.table) t WHERE t.\(sql.columns[slot]) NOTNULL AND NOT EXISTS (
                SELECT 1 FROM nest_value v WHERE v.object = t.id AND v.property = \(table.properties[slot].rawValue)
                AND v.freed ISNULL AND v.descriptor = t.\(sql.columns[slot]))
            """
        )
        defer { statement.reset() }
        while try statement.step() {
            report(
                "\(table.name) #\(statement.integer(0)): \(table.columnNames[slot]) is a large value that is missing"
            )
        }
    }

    /// Every held value is that of its object.
    private func checkHeld(_ report: (String) -> Void) throws(StoreError) {
        var terms: [String] = []
        for table in self.layout.entities {
            let sql = EntitySQL(table)
            for slot in table.largeSlots {
                terms.append(
                    "EXISTS (SELECT 1 FROM \(sql.table) t WHERE v.property = \(table.properties[slot].rawValue) "
                        + "AND t.id = v.object AND t.\(sql.columns[slot]) = v.descriptor)"
                )
            }
        }
        try self.list(
            "SELECT id FROM nest_value v WHERE v.object NOTNULL AND v.freed ISNULL "
                + "AND NOT (\(terms.isEmpty ? "FALSE" : terms.joined(separator: " OR ")))",
            "is held by no object",
            report
        )
    }

    private func checkBytes(_ report: (String) -> Void) throws(StoreError) {
        // Those that are arriving have an empty descriptor.
        let statement = try self.connection.prepare(
            """
            SELECT id, type, descriptor, length FROM nest_value WHERE object NOTNULL OR descriptor != x'' ORDER BY id
            """
        )
        defer { statement.reset() }
        while try statement.step() {
            let id = statement.integer(0)
            guard let type = AttributeType(rawValue: UInt8(clamping: statement.integer(1))), type.isLarge,
                let value = LargeValue(statement.blob(2)), value.id == id, Int64(value.length) == statement.integer(3)
            else {
                report("large value \(id) cannot be read")
                continue
            }
            var verifier = ValueVerifier(type)
            var next = 0
            try ValueTable(self.connection).forEachPiece(of: id) { (number, bytes) throws(StoreError) in
                if number == next { next += 1 }
                verifier.add(bytes)
            }
            if let fault = verifier.fault(length: value.length, digest: value.digest) {
                report("large value \(id): \(fault.message)")
            }
        }
    }
}
