import NestModel

/// Rows of a result in the byte form of rows frames.
package struct EncodedRows {
    /// Bodies of about `Limits.chunkBytes`, each a count and that many rows.
    package private(set) var bodies: [[UInt8]] = []
    package private(set) var count = 0
    package private(set) var digest = Digest.empty
    private let sectionHash: UInt64
    private var writer = ByteWriter()
    private var inBody = 0

    fileprivate init(sectionHash: UInt64) {
        self.sectionHash = sectionHash
    }

    fileprivate mutating func append(_ id: ObjectID, _ values: (inout ByteWriter) -> Void) {
        self.writer.write(objectID: id)
        values(&self.writer)
        self.count += 1
        self.inBody += 1
        self.digest.append(sectionHash: self.sectionHash, object: id)
        if self.writer.count >= Limits.chunkBytes { self.finish() }
    }

    /// Ends the body that is being written.
    fileprivate mutating func finish() {
        guard self.inBody > 0 else { return }
        var body = ByteWriter(capacity: self.writer.count + 4)
        body.write(count: self.inBody)
        body.write(raw: self.writer.bytes)
        self.bodies.append(body.bytes)
        self.writer.bytes.removeAll(keepingCapacity: true)
        self.inBody = 0
    }
}

extension EntityLayout {
    /// Stands in a projection for the object's own entity, an integer.
    package static let entitySlot = -1
}

extension ResultSource {
    /// SQLite gives the rows in the order of their keys: nulls are below everything, text and data are compared by their
    /// bytes. Decimals are text to it.
    package var isOrderedBySQL: Bool { !self.sort.contains { $0.form == .decimal } }
}

extension Store {
    /// Calls `body` with each row of a result: its position (0 where none orders the rows) and the values of the sort terms.
    /// In the order of the keys when `isOrderedBySQL`.
    package func forEachRow(
        of source: ResultSource,
        _ body: (ObjectID, _ position: Int64, _ values: [AttributeValue]) throws -> Void
    ) throws {
        let layout = self.table(of: source).layout
        let statement = try self.connection.statement(self.sql(source).keys)
        defer { statement.reset() }
        self.bind(source, to: statement)
        let table = self.table(of: source)
        var values = [AttributeValue](repeating: .null, count: source.sort.count)
        while try statement.step() {
            if let filter = source.filter {
                let id = statement.objectID(0)
                guard let row = try table.row(id), filter.admits(id, row) else { continue }
            }
            for (index, term) in source.sort.enumerated() {
                values[index] = statement.value(Int32(index + 2), layout.columns[term.slot])
            }
            try body(statement.objectID(0), statement.integer(1), values)
        }
    }

    private func bind(_ source: ResultSource, to statement: Statement) {
        if let owner = source.owner { statement.bind(1, owner.rawValue) }
        for (index, constant) in (source.filter?.constants ?? []).enumerated() {
            statement.bind(Int32(index + 2), constant.value)
        }
    }

    /// The rows of a result in its order. Precondition: `isOrderedBySQL`, and no filter.
    package func rows(of source: ResultSource, projection: [Int], sectionHash: UInt64) throws -> EncodedRows {
        precondition(
            source.isOrderedBySQL && source.filter == nil,
            "which rows there are, and their order, is the caller's to find"
        )
        let columns = self.columns(projection, source)
        let statement = try self.connection.statement(self.sql(source).rows(projection))
        defer { statement.reset() }
        if let owner = source.owner { statement.bind(1, owner.rawValue) }
        var rows = EncodedRows(sectionHash: sectionHash)
        while try statement.step() {
            rows.append(statement.objectID(0)) { writer in
                for (index, column) in columns.enumerated() {
                    statement.write(Int32(index + 1), column, into: &writer)
                }
            }
        }
        rows.finish()
        return rows
    }

    /// These rows of a result, in this order; those that are not in the store are left out.
    package func rows(
        _ ids: some Sequence<ObjectID>,
        of source: ResultSource,
        projection: [Int],
        sectionHash: UInt64
    ) throws -> EncodedRows {
        let columns = self.columns(projection, source)
        let statement = try self.connection.statement(self.sql(source).row(projection))
        defer { statement.reset() }
        var rows = EncodedRows(sectionHash: sectionHash)
        for id in ids {
            statement.bind(1, id.rawValue)
            if try statement.step() {
                rows.append(id) { writer in
                    for (index, column) in columns.enumerated() {
                        statement.write(Int32(index + 1), column, into: &writer)
                    }
                }
            }
            statement.reset()
        }
        rows.finish()
        return rows
    }

    private func table(of source: ResultSource) -> EntityTable {
        guard let index = self.layout.index(of: source.table) else { preconditionFailure("a result is of the model's") }
        return self.tables[index]
    }

    private func columns(_ projection: [Int], _ source: ResultSource) -> [EntityLayout.Column] {
        let layout = self.table(of: source).layout
        return projection.map { $0 == EntityLayout.entitySlot ? .integer : layout.columns[$0] }
    }

    private func sql(_ source: ResultSource) -> ResultSQL {
        let table = self.table(of: source)
        guard case .paired(let join, _, _, _, _) = source.membership else {
            return ResultSQL(source, table, pairs: nil)
        }
        guard let index = self.layout.index(of: join) else { preconditionFailure("a result is of the model's") }
        return ResultSQL(source, table, pairs: self.tables[index])
    }
}

/// The SQL that reads the rows of a result: `t` is their table, `p` that of the pairs. The owner is parameter 1,
/// the constants of the filter are those from 2 on.
private struct ResultSQL {
    private let source: ResultSource
    private let layout: EntityLayout
    private let table: EntitySQL
    private let from: String
    /// What `Membership` orders the rows by; `nil`: their ids.
    private let position: String?

    init(_ source: ResultSource, _ table: EntityTable, pairs: EntityTable?) {
        self.source = source
        self.layout = table.layout
        self.table = table.sql
        var terms: [String] = []
        var from = "FROM \(table.sql.table) AS t"
        var position: String?
        switch source.membership {
        case .all:
            break
        case .owned(let slot, let place, _):
            terms.append("t.\(table.sql.columns[slot]) = ?1")
            position = place.map { "t.\(table.sql.position($0))" }
        case .paired(_, let ownerSlot, let targetSlot, let place, _):
            guard let pairs else { preconditionFailure("a paired result has a table of pairs") }
            // CROSS: the pairs of one owner lead, whatever the planner knows of the tables' sizes.
            from =
                "FROM \(pairs.sql.table) AS p CROSS JOIN \(table.sql.table) AS t ON t.id = p.\(pairs.sql.columns[targetSlot])"
            terms.append("p.\(pairs.sql.columns[ownerSlot]) = ?1")
            position = place.map { "p.\(pairs.sql.position($0))" }
        }
        // SQL only narrows: what the filter says is decided by the filter.
        for (index, constant) in (source.filter?.constants ?? []).enumerated() {
            terms.append("t.\(table.sql.columns[constant.slot]) = ?\(index + 2)")
        }
        let isFiltered = source.owner == nil ? source.kinds.count < table.layout.kinds.count : source.isFiltered
        if isFiltered, table.layout.hasKinds {
            terms.append("t.nest_entity IN (\(source.kinds.map { "\($0.rawValue)" }.joined(separator: ", ")))")
        }
        self.from = from + (terms.isEmpty ? "" : " WHERE " + terms.joined(separator: " AND "))
        self.position = position
    }

    private var order: String {
        var terms = self.source.sort.map { "t.\(self.table.columns[$0.slot])\($0.isAscending ? "" : " DESC")" }
        if terms.isEmpty, let position = self.position { terms.append(position) }
        return "ORDER BY " + (terms + ["t.id"]).joined(separator: ", ")
    }

    var keys: String {
        let values = self.source.sort.map { ", t.\(self.table.columns[$0.slot])" }.joined()
        let position = self.source.sort.isEmpty ? self.position ?? "0" : "0"
        return "SELECT t.id, \(position)\(values) \(self.from) \(self.source.isOrderedBySQL ? self.order : "")"
    }

    func rows(_ projection: [Int]) -> String { "SELECT t.id\(self.list(projection)) \(self.from) \(self.order)" }

    func row(_ projection: [Int]) -> String {
        "SELECT t.id\(self.list(projection)) FROM \(self.table.table) AS t WHERE t.id = ?1"
    }

    private func list(_ projection: [Int]) -> String {
        projection.map { slot in
            guard slot == EntityLayout.entitySlot else { return ", t.\(self.table.columns[slot])" }
            return self.layout.hasKinds ? ", t.nest_entity" : ", \(self.layout.number.rawValue)"
        }.joined()
    }
}
