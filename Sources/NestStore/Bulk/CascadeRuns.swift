import NestModel
import NestSchema

/// Reads and deletes the objects of a cascade in runs of ids that follow one another, as those of an import do and of a
/// list that was written at once: one statement for many objects.
///
/// What has been read ahead stays true only in a cascade that goes down a tree and changes nothing else
/// (`ModelLayout.cascadesAsTree`). Deletions wait until `flush`: call it before anything else reads the tables.
final class CascadeRuns {
    /// Objects read and deleted at once, and children of theirs read with them.
    private static let objectsMax: Int64 = 256
    private static let childrenMax = 1_024
    /// No more rows are read ahead when they hold so many bytes of texts and data.
    private static let bytesMax = 1 << 20

    private let tables: [EntityTable]
    private let layout: ModelLayout
    private var table: EntityTable?
    private var previous: Int64 = 0
    /// How many rows were read last.
    private var ahead: Int64 = 1
    /// The ids whose rows and children have been read; empty while objects come one by one.
    private var ids: Range<Int64> = 0..<0
    private var rows: [ObjectRow?] = []
    private var children: [Children] = []
    private var deleted: (table: EntityTable, ids: ClosedRange<Int64>)?

    /// What one relationship of the objects that were read leads to.
    private struct Children {
        /// By object: where its children begin among `ids`; one more at the end.
        var starts: [Int] = []
        var ids: [ObjectID] = []
        /// There are more from here on: those are not known.
        var knownBelow: Int64
    }

    init(_ tables: [EntityTable], _ layout: ModelLayout) {
        self.tables = tables
        self.layout = layout
    }

    /// The row of an object about to be deleted; `nil` when it is gone.
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
            bytes += row.values.reduce(0) { $0 + $1.byteCount }
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

    /// What a relationship of the object whose row was asked for last leads to, in order, when it has been read with
    /// it. `index`: which of its table's `toMany`.
    func children(of id: ObjectID, _ index: Int) -> ArraySlice<ObjectID>? {
        guard self.ids.contains(id.rawValue), id.rawValue < self.children[index].knownBelow else { return nil }
        let offset = Int(id.rawValue - self.ids.lowerBound)
        return self.children[index].ids[self.children[index].starts[offset]..<self.children[index].starts[offset + 1]]
    }

    /// Deletes an object, with those that follow it.
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

    /// Does the deletions that wait.
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
