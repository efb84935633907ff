import NestModel

/// A hash of the contents of all tables. Equal contents have equal hashes within one process.
package enum StoredImage {
    package static func of(_ stored: some StoredTables) throws -> Int {
        var tables: [String] = []
        try stored.forEachRow("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") { row in
            tables.append(row.text(0))
            return true
        }
        var hasher = Hasher()
        for table in tables {
            var columns: [String] = []
            try stored.forEachRow("SELECT name FROM pragma_table_info('\(table)')") { row in
                columns.append("quote(\"\(row.text(0))\")")
                return true
            }
            hasher.combine(table)
            try stored.forEachRow("SELECT \(columns.joined(separator: " || ',' || ")) FROM \"\(table)\" ORDER BY 1") {
                hasher.combine($0.text(0))
                return true
            }
        }
        return hasher.finalize()
    }

    /// Returns the faults that `PRAGMA integrity_check` finds.
    package static func damage(_ stored: some StoredTables) throws -> [String] {
        var lines: [String] = []
        try stored.forEachRow("PRAGMA integrity_check") { row in
            lines.append(row.text(0))
            return true
        }
        return lines == ["ok"] ? [] : lines
    }
}
