import NestModel
import NestProtocol
import NestSchema

/// The rows of the tables that differ from the graph, as the open transaction sees them. The store keeps them in
/// `nest_meta`.
///
/// **Hidden** rows are not in the graph: those of a write that is being prepared, and those of a deletion that are
/// still to be removed. No row of the graph refers to a hidden row. So statements that follow relationships never meet
/// one, and only those that read a whole table, or look for values or for an id that a client names, leave hidden rows
/// out.
///
/// **Stamped** rows are in the graph, and are still to get the revision of the write that inserted them.
struct PreparedRows: Equatable {
    struct Stamping: Equatable {
        /// The rows whose revision may still be the old one.
        var ids: IDRuns
        var old: Revision
        var new: Revision

        func only(_ ids: IDRuns) -> Stamping { Stamping(ids: ids, old: self.old, new: self.new) }
    }

    var hidden = IDRuns()
    var stamping: Stamping?

    private static let key = "prepared"

    /// Returns the revision of a row that is stored with `revision`.
    @inline(__always)
    func revision(of id: ObjectID, stored revision: Revision) -> Revision {
        guard let stamping, revision == stamping.old, stamping.ids.contains(id) else { return revision }
        return stamping.new
    }

    /// Returns `nil` if nothing is prepared.
    static func read(_ connection: Connection) throws(StoreError) -> PreparedRows? {
        guard let bytes = try Store.meta(connection, self.key) else { return nil }
        do throws(DecodingFailure) {
            return try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in
                var rows = PreparedRows()
                rows.hidden = try self.runs(&reader)
                let stamped = try self.runs(&reader)
                if !stamped.isEmpty {
                    rows.stamping = Stamping(
                        ids: stamped,
                        old: try reader.revision("old"),
                        new: try reader.revision("new")
                    )
                }
                return rows
            }
        } catch {
            throw .corrupt(path: connection.path, reason: "its prepared rows: \(error.description)")
        }
    }

    private static func runs(_ reader: inout ByteReader) throws(DecodingFailure) -> IDRuns {
        var runs = IDRuns()
        for _ in 0..<(try reader.count("runs")) {
            let (first, last) = (try reader.objectID("first id"), try reader.objectID("last id"))
            guard first <= last, runs.append(first, through: last) else { throw DecodingFailure(.outOfRange, "runs") }
        }
        return runs
    }

    /// Writes the state in the open transaction.
    func write(_ connection: Connection) throws(StoreError) {
        var bytes = ByteWriter()
        for runs in [self.hidden, self.stamping?.ids ?? IDRuns()] {
            bytes.write(count: runs.runs.count)
            for run in runs.runs {
                bytes.write(objectID: ObjectID(run.lowerBound))
                bytes.write(objectID: ObjectID(run.upperBound))
            }
        }
        if let stamping {
            bytes.write(revision: stamping.old)
            bytes.write(revision: stamping.new)
        }
        try Store.setMeta(connection, Self.key, bytes.bytes)
    }

    /// Marks the store as one with prepared rows, in the open transaction: an older nestd would show hidden rows.
    func begin(_ connection: Connection) throws(StoreError) {
        try self.write(connection)
        try connection.execute("PRAGMA user_version = \(Schema.preparingVersion)")
    }

    /// Notes in the open transaction that all rows are as in the graph.
    static func end(_ connection: Connection) throws(StoreError) {
        try connection.statement("DELETE FROM nest_meta WHERE key = '\(self.key)'").run()
        // A store of a cluster keeps its own format.
        guard try self.formatVersion(connection) == Schema.preparingVersion else { return }
        try connection.execute("PRAGMA user_version = \(Schema.version)")
    }

    private static func formatVersion(_ connection: Connection) throws(StoreError) -> Int64 {
        let statement = try connection.statement("PRAGMA user_version")
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Makes all rows as in the graph, before a migration to another model.
    static func finishAll(_ connection: Connection, _ layout: ModelLayout) throws(StoreError) {
        guard let rows = try self.read(connection) else { return }
        try connection.beginWriting()
        do throws(StoreError) {
            for table in layout.entities where !table.isJoin {
                let sql = EntitySQL(table)
                let delete = try connection.prepare(sql.deleteRange)
                for run in rows.hidden.runs {
                    delete.bind(1, run.lowerBound)
                    delete.bind(2, run.upperBound)
                    try delete.run()
                }
                guard let stamping = rows.stamping else { continue }
                let stamp = try connection.prepare(sql.stampRange)
                for run in stamping.ids.runs { try stamp.stamp(run, stamping) }
            }
            try PreparedBlocks.removeAll(connection)
            try self.end(connection)
            try connection.commit()
        } catch {
            try connection.rollBack()
            throw error
        }
    }
}

extension Statement {
    /// Runs `EntitySQL.stampRange`.
    func stamp(_ ids: ClosedRange<Int64>, _ stamping: PreparedRows.Stamping) throws(StoreError) {
        self.bind(1, ids.lowerBound)
        self.bind(2, ids.upperBound)
        self.bind(3, Int64(stamping.old.rawValue))
        self.bind(4, Int64(stamping.new.rawValue))
        try self.run()
    }
}
