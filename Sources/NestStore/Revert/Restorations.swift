import Glibc
import NestModel
import NestSchema

/// The objects that a revert restores under existing owners, owner by owner from left to right: in memory while they
/// are few, otherwise in a temporary table.
final class Restorations {
    typealias Restoration = RevertPlan.Restoration

    /// The deleted objects among them, which are restored.
    let returning: ObjectIDSet
    private let memory: BulkMemory
    private var held: [Restoration] = []
    private var spilled: SpilledRestorations?

    init(_ memory: BulkMemory) {
        self.memory = memory
        self.returning = ObjectIDSet(memory)
    }

    func append(_ restoration: Restoration) throws(StoreError) {
        if restoration.row != nil { try self.returning.insert(restoration.id) }
        self.held.append(restoration)
        guard self.held.count > self.memory.countMax else { return }
        let spilled: SpilledRestorations
        if let open = self.spilled {
            spilled = open
        } else {
            spilled = try SpilledRestorations(self.memory.connection)
            self.spilled = spilled
        }
        for restoration in self.held { try spilled.insert(restoration) }
        self.held = []
    }

    /// Calls `body` with each object, in order.
    func forEach(of graph: ObjectGraph, _ body: (Restoration) throws(StoreError) -> Void) throws(StoreError) {
        guard let spilled else {
            self.held.sort {
                ($0.record.owner.rawValue, $0.place, $0.isRehomed ? 1 : 0, $0.record.place.position)
                    < ($1.record.owner.rawValue, $1.place, $1.isRehomed ? 1 : 0, $1.record.place.position)
            }
            for restoration in self.held { try body(restoration) }
            return
        }
        for restoration in self.held { try spilled.insert(restoration) }
        self.held = []
        try spilled.forEach(of: graph, body)
    }

    func discard() throws(StoreError) {
        try self.returning.discard()
        try self.spilled?.discard()
        (self.spilled, self.held) = (nil, [])
    }
}

/// The objects in a temporary table. One revert at a time uses the table; a rollback of the revert empties it.
private final class SpilledRestorations {
    private let connection: Connection
    private var count: Int64 = 0

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        try connection.execute(
            """
            CREATE TEMP TABLE IF NOT EXISTS nest_restoration (
                owner INTEGER NOT NULL, place INTEGER NOT NULL, is_rehomed INTEGER NOT NULL, position INTEGER NOT NULL,
                number INTEGER NOT NULL, entity INTEGER NOT NULL, id INTEGER NOT NULL, stamp INTEGER NOT NULL,
                left INTEGER, right INTEGER, is_only INTEGER NOT NULL, row BLOB,
                PRIMARY KEY (owner, place, is_rehomed, position, number)
            ) WITHOUT ROWID
            """
        )
    }

    func insert(_ restoration: RevertPlan.Restoration) throws(StoreError) {
        let statement = try self.connection.statement(
            "INSERT INTO temp.nest_restoration VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        )
        let record = restoration.record
        let layout = restoration.table.layout
        self.count += 1
        let numbers = [
            record.owner.rawValue, Int64(restoration.place), restoration.isRehomed ? 1 : 0, record.place.position,
            self.count, Int64(layout.number.rawValue), restoration.id.rawValue, Int64(record.place.stamp),
        ]
        for (index, number) in numbers.enumerated() { statement.bind(Int32(index + 1), number) }
        if let neighbours = record.neighbours {
            // 0: there was no neighbour. Null: unknown.
            statement.bind(9, neighbours.left?.rawValue ?? 0)
            statement.bind(10, neighbours.right?.rawValue ?? 0)
        } else {
            statement.bindNull(9)
            statement.bindNull(10)
        }
        statement.bind(11, restoration.isOnly ? 1 : 0)
        if let row = restoration.row {
            let object = ChangedRow(entity: row.entity, id: restoration.id, before: row, after: nil)
            var bytes = ByteWriter()
            // A deletion contains the whole object.
            if let change = object.change(layout) { bytes.write(change: change, layout: layout) }
            statement.bind(12, blob: bytes.bytes)
        } else {
            statement.bindNull(12)
        }
        try statement.run()
    }

    func forEach(of graph: ObjectGraph, _ body: (RevertPlan.Restoration) throws(StoreError) -> Void) throws(StoreError)
    {
        let statement = try self.connection.statement(
            """
            SELECT owner, place, is_rehomed, position, entity, id, stamp, left, right, is_only, row
            FROM temp.nest_restoration ORDER BY owner, place, is_rehomed, position, number
            """
        )
        defer { statement.reset() }
        while try statement.step() {
            func neighbour(_ column: Int32) -> ObjectID? {
                statement.integer(column) == 0 ? nil : statement.objectID(column)
            }
            let place = SparsePlace(position: statement.integer(3), stamp: UInt64(clamping: statement.integer(6)))
            var record = PlaceRecord(owner: statement.objectID(0), place: place)
            if !statement.isNull(7) { record.neighbours = Neighbours(left: neighbour(7), right: neighbour(8)) }
            var restoration = RevertPlan.Restoration(
                table: try graph.table(EntityNumber(UInt16(clamping: statement.integer(4)))),
                id: statement.objectID(5),
                place: Int(statement.integer(1)),
                record: record
            )
            restoration.isRehomed = statement.integer(2) == 1
            restoration.isOnly = statement.integer(9) == 1
            if !statement.isNull(10) {
                let change: ObjectChange
                do throws(DecodingFailure) {
                    change = try ByteReader.read(statement.blob(10)) { (reader) throws(DecodingFailure) in
                        try reader.change(graph.layout)
                    }
                } catch {
                    // This request has written the row itself, so the store is not damaged.
                    throw .io(operation: "reading the temporary table of an undo", errno: EIO)
                }
                restoration.row = change.changedRow(restoration.table.layout, revision: graph.revision).before
            }
            try body(restoration)
        }
    }

    func discard() throws(StoreError) {
        try self.connection.statement("DELETE FROM temp.nest_restoration").run()
    }
}
