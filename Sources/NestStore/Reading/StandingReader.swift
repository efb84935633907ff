import NestModel
import NestProtocol
import NestSchema

/// One read-only connection for read transactions one after the other. Not Sendable: used on the thread that creates
/// it.
///
/// Never checkpoints. While a transaction is open the write-ahead log cannot be reset.
package final class StandingReader {
    /// Clients choose the SQL of their fetches: with more cached statements the connection should be replaced.
    private static let statementsMax = 256

    /// The reader that it was made from.
    package let source: StoreReader
    private let connection: Connection
    private let journal: Journal
    private let objects: ObjectReader
    private var counts = OwnedCounts(countMin: OwnedCounts.countMin)
    /// The revision of the open transaction; `nil` if none is open.
    package private(set) var revision: Revision?

    package init(_ reader: StoreReader) throws(StoreError) {
        let connection = try Connection(path: reader.path, role: .reader)
        self.source = reader
        self.connection = connection
        self.journal = Journal(connection: connection, layout: reader.layout)
        self.objects = ObjectReader(
            connection,
            reader.layout,
            reader.layout.entities.map { EntityTable($0, connection) }
        )
    }

    /// Whether the connection should be replaced, because it has cached too many statements.
    package var needsReplacement: Bool { self.connection.statementCount > Self.statementsMax }

    /// Begins a transaction at the newest committed revision, which it returns. Precondition: no transaction is open.
    package func begin() throws(StoreError) -> Revision {
        precondition(self.revision == nil, "no transaction is open")
        return try self.connection.access { () throws(StoreError) in
            do throws(StoreError) {
                // SQLite takes its snapshot at the first read.
                try self.connection.beginReading()
                let revision = try self.journal.newest()?.revision ?? Revision(0)
                self.revision = revision
                return revision
            } catch {
                try? self.connection.execute("ROLLBACK")
                throw error
            }
        }
    }

    /// Reads within the open transaction. Precondition: a transaction is open.
    package func read<Value>(_ body: (ObjectReader) throws(StoreError) -> Value) throws(StoreError) -> Value {
        precondition(self.revision != nil, "a transaction is open")
        return try self.connection.access { () throws(StoreError) in try body(self.objects) }
    }

    /// Returns all values and relationship counts of one object, as `Store.detail`. Precondition: a transaction is
    /// open.
    package func detail(_ id: ObjectID) throws(StoreError) -> ObjectDetail? {
        guard let revision else { preconditionFailure("a transaction is open") }
        return try self.connection.access { () throws(StoreError) in
            try self.objects.detail(id) { (key, read) throws(StoreError) in
                try self.counts.count(key, head: revision, read)
            }
        }
    }

    /// Returns the same as the body of OBJECT. Precondition: a transaction is open.
    package func body(_ id: ObjectID) throws(StoreError) -> ObjectBody? {
        guard let revision else { preconditionFailure("a transaction is open") }
        return try self.connection.access { () throws(StoreError) in
            try self.objects.body(id) { (key, read) throws(StoreError) in
                try self.counts.count(key, head: revision, read)
            }
        }
    }

    /// Ends the open transaction, if there is one.
    package func end() {
        guard self.revision != nil else { return }
        self.revision = nil
        // A connection that cannot end its read will be closed, which ends the read too.
        self.connection.access { try? self.connection.execute("ROLLBACK") }
    }

    /// The last call.
    package func close() {
        self.end()
        try? self.connection.close()
    }
}
