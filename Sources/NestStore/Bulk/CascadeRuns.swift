import NestModel
import NestSchema

/// Reads and deletes the objects of a cascade in runs of consecutive ids, with one statement for many objects. The
/// objects of an import, or of a list that was written at once, have consecutive ids.
///
/// Rows that were read ahead stay valid only in a cascade that descends a tree and changes nothing else
/// (`ModelLayout.cascadesAsTree`). Deletions are collected until `flush`: call it before anything else reads the
/// tables.
final class CascadeRuns {
    /// The largest number of objects that are read or deleted at once, and of their children that are read with them.
    private static let objectsMax: Int64 = 256
    private static let childrenMax = 1_024
    /// Reading ahead stops when the rows hold this many bytes of text and data.
    private static let bytesMax = 1 << 20

    private let tables: [EntityTable]
    private let layout: ModelLayout
    private var table: EntityTable?
    private var previous: Int64 = 0
    /// The number of ids in the last read.
    private var ahead: Int64 = 1
    /// The ids whose rows and children have been read; empty while objects are read one by one.
    private var ids: Range<Int64> = 0..<0
    private var rows: [ObjectRow?] = []
    private var children: [Children] = []
    private var deleted: (table: EntityTable, ids: ClosedRange<Int64>)?

    /// The children of the read objects in one relationship.
    private struct Children {
        /// For each object the index of its first child in `ids`; one more entry at the end.
        var starts: [Int] = []
        var ids: [ObjectID] = []
        /// The children are complete only for owners with ids below this one.
        var knownBelow: Int64
    }

    init(_ tables: [EntityTable], _ layout: ModelLayout) {
        self.tables = tables
        self.layout = layout
    }

    /// Returns the row of an object about to be deleted; `nil` if it no longer exists.
    func row(_ id: ObjectID, _ table: EntityTable) throws(StoreError) -> ObjectRow? {
        let follows = table === self.table && id.rawValue == self.previous + 1
        self.previous = id.rawValue
        if table === self.table, self.ids.contains(id.rawValue) {
            let index = Int(id.rawValue - self.ids.lowerBound)
            let row = self.rows[index]
            self.rows[index] = nil
            return row
        }
        self.table = table
        self.ids = 0..<0
        self.ahead = follows ? min(self.ahead * 4, Self.objectsMax) : 1
        guard follows else { return try table.row(id) }
        try self.flush()
        try self.readAhead(from: id.rawValue, table)
        let row = self.rows.first ?? nil
        if !self.rows.isEmpty { self.rows[0] = nil }
        return row
    }

    private func readAhead(from first: Int64, _ table: EntityTable) throws(StoreError) {
        var end = first + self.ahead
        self.rows.removeAll(keepingCapacity: true)
        var bytes = 0
        try table.forEachRow(in: first...(end - 1)) { id, row in
            while first + Int64(self.rows.count) < id.rawValue { self.rows.append(nil) }
            self.rows.append(row)
            bytes += row.values.byteCount
            guard bytes < Self.bytesMax else {
                end = id.rawValue + 1
                return false
            }
            return true
        }
        while first + Int64(self.rows.count) < end { self.rows.append(nil) }
        self.ids = first..<end
        self.children.removeAll(keepingCapacity: true)
        for toMany in table.layout.toMany { self.children.append(try self.readChildren(toMany)) }
    }

    private func readChildren(_ toMany: EntityLayout.ToMany) throws(StoreError) -> Children {
        var children = Children(knownBelow: self.ids.upperBound)
        let first = self.ids.lowerBound
        try self.table(toMany.destination).forEach(
            ofOwners: first...(self.ids.upperBound - 1),
            slot: toMany.inverseSlot,
            limit: Self.childrenMax
        ) { owner, id in
            while first + Int64(children.starts.count) <= owner.rawValue { children.starts.append(children.ids.count) }
            children.ids.append(id)
            if children.ids.count == Self.childrenMax { children.knownBelow = owner.rawValue }
        }
        while children.starts.count <= self.ids.count { children.starts.append(children.ids.count) }
        return children
    }

    private func table(_ entity: EntityNumber) -> EntityTable {
        guard let index = self.layout.index(of: entity) else {
            preconditionFailure("a relationship leads to an entity of the model")
        }
        return self.tables[index]
    }

    /// Returns the children of the object whose row was read last, in order; `nil` if they were not read with it.
    /// `index`: the index of the relationship in the `toMany` of the table.
    func children(of id: ObjectID, _ index: Int) -> ArraySlice<ObjectID>? {
        guard self.ids.contains(id.rawValue), id.rawValue < self.children[index].knownBelow else { return nil }
        let offset = Int(id.rawValue - self.ids.lowerBound)
        return self.children[index].ids[self.children[index].starts[offset]..<self.children[index].starts[offset + 1]]
    }

    /// Deletes an object. Consecutive objects are collected and deleted together.
    func delete(_ id: ObjectID, _ table: EntityTable) throws(StoreError) {
        if let deleted, deleted.table === table, id.rawValue == deleted.ids.upperBound + 1,
            deleted.ids.count < Int(Self.objectsMax)
        {
            self.deleted = (table, deleted.ids.lowerBound...id.rawValue)
            return
        }
        try self.flush()
        self.deleted = (table, id.rawValue...id.rawValue)
    }

    /// Performs the collected deletions.
    func flush() throws(StoreError) {
        guard let deleted else { return }
        self.deleted = nil
        if deleted.ids.count == 1 {
            try deleted.table.delete(ObjectID(deleted.ids.lowerBound))
        } else {
            try deleted.table.delete(deleted.ids)
        }
    }
}
