/// A statement that is prepared when it is first used.
final class LazyStatement {
    private let connection: Connection
    private let sql: String
    private var statement: Statement?

    init(_ connection: Connection, _ sql: String) {
        self.connection = connection
        self.sql = sql
    }

    func get() throws(StoreError) -> Statement {
        if let statement { return statement }
        let statement = try self.connection.prepare(self.sql)
        self.statement = statement
        return statement
    }
}
