import NestTestSupport

/// All rows of a store as text, read with plain SQL while its node runs.
enum StoreDump {
    /// Columns that each node keeps for itself.
    private static let own: Set = ["nest_token.last_used"]

    /// The node's position in the log.
    static func position(_ path: String) throws -> Int64 {
        var position: Int64?
        try StoredFile(path).forEachRow("SELECT position FROM nest_log") {
            position = $0.integer(0)
            return true
        }
        guard let position else { throw ProcessFailure("\(path) has no position in a log") }
        return position
    }

    /// Waits until all stores are at one position of the log, and returns the contents of each store at it.
    static func atOnePosition(_ paths: [String]) async throws -> [[String: [String]]] {
        try await waitFor("all nodes at one position") {
            let before = try paths.map { try Self.position($0) }
            guard Set(before).count == 1 else { return nil }
            let dumps = try paths.map { try Self.tables($0) }
            return try paths.map { try Self.position($0) } == before ? dumps : nil
        }
    }

    /// Returns the rows of each table, sorted, with every value as SQL writes it.
    static func tables(_ path: String) throws -> [String: [String]] {
        let file = try StoredFile(path)
        var names: [String] = []
        try file.forEachRow("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'") {
            names.append($0.text(0))
            return true
        }
        var tables: [String: [String]] = [:]
        for name in names {
            var columns: [String] = []
            try file.forEachRow("SELECT name FROM pragma_table_xinfo('\(name)')") {
                columns.append($0.text(0))
                return true
            }
            let shown = columns.filter { !Self.own.contains("\(name).\($0)") }.map { "quote(\"\($0)\")" }
            var rows: [String] = []
            try file.forEachRow("SELECT \(shown.joined(separator: " || ', ' || ")) FROM \"\(name)\"") {
                rows.append($0.text(0))
                return true
            }
            tables[name] = rows.sorted()
        }
        return tables
    }
}
