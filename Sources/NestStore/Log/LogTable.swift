import NestModel

/// The table `nest_log` of a store of a cluster: its `LogState`.
enum LogTable {
    /// Returns `nil` for an ordinary store.
    static func read(_ connection: Connection, path: String) throws(StoreError) -> LogState? {
        guard Schema.isOfCluster(try Store.pragma(connection, "user_version")) else { return nil }
        let statement = try connection.statement(
            "SELECT store, position, chain, epoch, node, time, timeline, replicated FROM nest_log"
        )
        defer { statement.reset() }
        guard try statement.step(), let chain = Chain(bytes: statement.blob(2)),
            // A node's id has the form of a chain: 16 bytes.
            let node = Chain(bytes: statement.blob(4))
        else { throw .corrupt(path: path, reason: "its place in the cluster's log is missing") }
        return LogState(
            store: statement.integer(0),
            position: LogPosition(position: statement.integer(1), chain: chain),
            writer: LogRecord.Writer(node: node.rawValue, epoch: statement.integer(3)),
            time: statement.integer(5),
            server: LogServer(
                timeline: UInt32(clamping: statement.integer(6)),
                isReplicated: statement.integer(7) != 0
            )
        )
    }

    /// Makes an ordinary store one of a cluster. Call it in a transaction.
    static func create(_ state: LogState, _ connection: Connection) throws(StoreError) {
        try connection.execute(Schema.logTable)
        try connection.execute("PRAGMA user_version = \(Schema.clusterVersion)")
        try self.write(state, connection)
    }

    /// Makes a store of a cluster an ordinary one. Call it in a transaction.
    static func drop(_ connection: Connection) throws(StoreError) {
        guard Schema.isOfCluster(try Store.pragma(connection, "user_version")) else { return }
        try connection.execute("DROP TABLE nest_log")
        try connection.execute("PRAGMA user_version = \(Schema.version)")
    }

    static func write(_ state: LogState, _ connection: Connection) throws(StoreError) {
        let statement = try connection.statement(
            """
            INSERT OR REPLACE INTO nest_log (one, store, position, chain, epoch, node, time, timeline, replicated)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """
        )
        statement.bind(1, state.store)
        statement.bind(2, state.position.position)
        statement.bind(3, blob: state.position.chain.bytes)
        statement.bind(4, state.writer.epoch)
        statement.bind(5, blob: Chain(state.writer.node).bytes)
        statement.bind(6, state.time)
        statement.bind(7, Int64(state.server.timeline))
        statement.bind(8, state.server.isReplicated ? 1 : 0)
        try statement.run()
    }
}
