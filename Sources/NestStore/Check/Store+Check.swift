import NestModel
import NestSchema

extension Store {
    /// Checks a store that no server has open. Changes neither the file nor its log.
    package static func check(_ path: String, progress: (CheckStep) -> Void) throws(StoreError) -> CheckReport {
        try self.reading(path) { (connection, path) throws(StoreError) in
            var check = StoreCheck(connection, ModelLayout(try self.storedModel(connection, path: path)))
            return try check.run(progress: progress)
        }
    }

    /// Reads a store that no server has open, in one read transaction. Changes neither the file nor its log.
    static func reading<Result>(
        _ path: String,
        sortsInFiles: Bool = false,
        _ body: (_ connection: Connection, _ path: String) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let path = try StoreFile.resolve(path)
        try StoreFile.checkKind(path)
        let lock = try StoreLock(storePath: path)
        defer { withExtendedLifetime(lock) {} }
        guard try StoreFile.check(path) != .missing else {
            throw .cannotOpen(path: path, reason: "there is no such file")
        }
        // A reader creates an empty log if there was none.
        let hasLog = StoreFile.exists(path + "-wal")
        defer { if !hasLog { StoreFile.removeEmptyLog(path) } }
        do {
            let connection = try Connection(path: path, role: .reader)
            defer { try? connection.close() }
            return try connection.access { () throws(StoreError) in
                if sortsInFiles { try connection.execute("PRAGMA temp_store = FILE") }
                try connection.beginReading()
                defer { try? connection.execute("ROLLBACK") }
                return try body(connection, path)
            }
        } catch {
            throw self.openingError(error, path: path)
        }
    }
}
