import NestProtocol
import NestModel
import NestOrder
import NestSchema

/// Rows of a result in the byte form of rows frames.
package struct EncodedRows {
    /// Bodies of about `Limits.chunkBytes`, each a count and that many rows.
    package private(set) var bodies: [SharedBytes] = []
    package private(set) var count = 0
    package private(set) var digest = ResultsDigest.empty
    private let sections: [SectionShare]
    private let onBody: (SharedBytes) throws(StoreError) -> Void
    private var section = 0
    private var inSection = 0
    private var writer = ByteWriter()
    private var inBody = 0

    /// A section's hash and its number of rows.
    package typealias SectionShare = (hash: UInt64, count: Int)

    fileprivate init(sections: [SectionShare], onBody: @escaping (SharedBytes) throws(StoreError) -> Void) {
        self.sections = sections
        self.onBody = onBody
    }

    fileprivate mutating func append(_ id: ObjectID, _ values: (inout ByteWriter) -> Void) throws(StoreError) {
        self.writer.write(objectID: id)
        values(&self.writer)
        self.count += 1
        self.inBody += 1
        // Rows beyond the expected count go to the last section: the digest then differs, and the client detects it.
        if self.inSection == self.sections[self.section].count, self.section < self.sections.count - 1 {
            self.section += 1
            self.inSection = 0
        }
        self.inSection += 1
        self.digest.append(sectionHash: self.sections[self.section].hash, object: id)
        if self.writer.count >= Limits.chunkBytes { try self.finish() }
    }

    /// Completes the body that is being written.
    fileprivate mutating func finish() throws(StoreError) {
        guard self.inBody > 0 else { return }
        var body = ByteWriter(capacity: self.writer.count + 4)
        body.write(count: self.inBody)
        body.write(raw: self.writer.bytes)
        let shared = SharedBytes(body.bytes)
        self.bodies.append(shared)
        try self.onBody(shared)
        self.writer.bytes.removeAll(keepingCapacity: true)
        self.inBody = 0
    }
}

extension ResultSource {
    /// Whether SQLite can return the rows in the order of their keys. It puts nulls first, and compares text and data
    /// by their bytes. It cannot order decimals, which it stores as text, or folded text.
    package var isOrderedBySQL: Bool {
        self.sort.allSatisfy { $0.order.form != .decimal && $0.order.folding.isEmpty && $0.slot != nil }
    }

    /// Whether SQL alone decides which rows the result has, and their order.
    package var isDecidedBySQL: Bool {
        (self.filter == nil || self.filter?.exclusion != nil) && self.related.isEmpty
    }
}

extension ObjectReader {
    /// Calls `body` with each row of a result: its position (0 if the rows are not ordered by positions) and the values
    /// of the sort terms. In the order of the keys if `isOrderedBySQL`. Precondition: `isDecidedBySQL`.
    package func forEachKey(
        of source: ResultSource,
        _ body: (ObjectID, _ position: Int64, _ values: [AttributeValue]) throws(StoreError) -> Void
    ) throws(StoreError) {
        // Callers check the same property first.
        precondition(source.isDecidedBySQL, "the caller must filter the rows itself")
        let layout = self.table(of: source).layout
        let statement = try self.connection.statementForGraph(self.sql(source).keys)
        defer { statement.reset() }
        self.bind(source, to: statement)
        let columns = source.sort.compactMap { $0.slot.map { layout.columns[$0] } }
        var values = [AttributeValue](repeating: .null, count: columns.count)
        while try statement.step() {
            for (index, column) in columns.enumerated() { values[index] = statement.value(Int32(index + 2), column) }
            try body(statement.objectID(0), statement.integer(1), values)
        }
    }

    /// Calls `body` with each member of a result that SQL cannot exclude, in no specific order: its position and its
    /// row.
    package func forEachCandidate(
        of source: ResultSource,
        _ body: (ObjectID, _ position: Int64, ObjectRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        let statement = try self.connection.statementForGraph(self.sql(source).candidates)
        defer { statement.reset() }
        self.bind(source, to: statement)
        let table = self.table(of: source)
        while try statement.step() {
            let id = statement.objectID(0)
            if let row = try table.row(id) { try body(id, statement.integer(1), row) }
        }
    }

    /// Whether reading a result would examine more than `count` objects. O(`count`).
    package func hasCandidates(of source: ResultSource, above count: Int) throws(StoreError) -> Bool {
        let statement = try self.connection.statementForGraph(self.sql(source).hasMore(count))
        defer { statement.reset() }
        self.bind(source, to: statement)
        return try statement.step()
    }

    private func bind(_ source: ResultSource, to statement: Statement) {
        if let owner = source.owner { statement.bind(1, owner.rawValue) }
        for (index, constant) in (source.filter?.constants ?? []).enumerated() {
            statement.bind(Int32(index + 2), constant.value)
        }
        if let exclusion = source.filter?.exclusion { statement.bind(2, exclusion.rawValue) }
    }

    /// Returns the rows of a result in its order, divided into these sections. `onBody` is called with each completed
    /// body; an error that it throws ends the read. Precondition: `isOrderedBySQL` and `isDecidedBySQL`.
    package func rows(
        of source: ResultSource,
        projection: [Int],
        sections: [EncodedRows.SectionShare],
        onBody: @escaping (SharedBytes) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> EncodedRows {
        precondition(
            source.isOrderedBySQL && source.isDecidedBySQL,
            "the caller must filter and order the rows itself"
        )
        let columns = self.columns(projection, source)
        let statement = try self.connection.statementForGraph(self.sql(source).rows(projection))
        defer { statement.reset() }
        self.bind(source, to: statement)
        var rows = EncodedRows(sections: sections, onBody: onBody)
        while try statement.step() {
            try rows.append(statement.objectID(0)) { writer in
                for (index, column) in columns.enumerated() {
                    statement.write(Int32(index + 1), column, into: &writer)
                }
            }
        }
        try rows.finish()
        return rows
    }

    /// Returns these rows of a result, in this order and divided into these sections, without rows that are not in the
    /// store. `related`: the values that follow the projected values of a row.
    package func rows(
        _ ids: some Sequence<ObjectID>,
        of source: ResultSource,
        projection: [Int],
        sections: [EncodedRows.SectionShare],
        onBody: @escaping (SharedBytes) throws(StoreError) -> Void = { _ in },
        related: (ObjectID) -> [AttributeValue]
    ) throws(StoreError) -> EncodedRows {
        let columns = self.columns(projection, source)
        let statement = try self.connection.statementForGraph(self.sql(source).row(projection))
        defer { statement.reset() }
        var rows = EncodedRows(sections: sections, onBody: onBody)
        for id in ids where !self.connection.isHidden(id) {
            statement.bind(1, id.rawValue)
            if try statement.step() {
                try rows.append(id) { writer in
                    for (index, column) in columns.enumerated() {
                        statement.write(Int32(index + 1), column, into: &writer)
                    }
                    for value in related(id) { writer.write(value: value) }
                }
            }
            statement.reset()
        }
        try rows.finish()
        return rows
    }

    private func table(of source: ResultSource) -> EntityTable {
        guard let index = self.layout.index(of: source.table) else { preconditionFailure("the table is in the model") }
        return self.tables[index]
    }

    private func columns(_ projection: [Int], _ source: ResultSource) -> [EntityLayout.Column] {
        let layout = self.table(of: source).layout
        return projection.map { $0 == EntityLayout.entitySlot ? .integer : layout.columns[$0] }
    }

    private func sql(_ source: ResultSource) -> ResultSQL {
        let table = self.table(of: source)
        guard case .paired(let join, _, _, _, _) = source.membership else {
            return ResultSQL(source, table, pairs: nil, hidden: self.connection.hidden)
        }
        guard let index = self.layout.index(of: join) else { preconditionFailure("the table is in the model") }
        return ResultSQL(source, table, pairs: self.tables[index], hidden: self.connection.hidden)
    }
}

/// The SQL that reads the rows of a result: `t` is their table, `p` the table of the pairs. The owner is parameter 1,
/// the constants of the filter are the parameters from 2 on. A filter with an exclusion has no constants, and its
/// object is parameter 2.
private struct ResultSQL {
    private let source: ResultSource
    private let layout: EntityLayout
    private let table: EntitySQL
    private let from: String
    /// The position by which the membership orders the rows; `nil`: by their ids.
    private let position: String?

    init(_ source: ResultSource, _ table: EntityTable, pairs: EntityTable?, hidden: IDRuns) {
        self.source = source
        self.layout = table.layout
        self.table = table.sql
        var terms: [String] = []
        var from = "FROM \(table.sql.table) AS t"
        var position: String?
        switch source.membership {
        case .all:
            // Hidden rows are not found by an owner that is not hidden, or by a pair.
            terms += hidden.exclusions(of: "t.id")
        case .owned(let slot, let place, let owner):
            terms.append("t.\(table.sql.columns[slot]) = ?1")
            if hidden.contains(owner) { terms.append("FALSE") }
            position = place.map { "t.\(table.sql.position($0))" }
        case .paired(_, let ownerSlot, let targetSlot, let place, _):
            guard let pairs else { preconditionFailure("a paired result has a table of pairs") }
            // CROSS: SQLite then reads the pairs of the owner first, whatever its statistics of the tables are.
            from =
                "FROM \(pairs.sql.table) AS p CROSS JOIN \(table.sql.table) AS t ON t.id = "
                + "p.\(pairs.sql.columns[targetSlot])"
            terms.append("p.\(pairs.sql.columns[ownerSlot]) = ?1")
            position = place.map { "p.\(pairs.sql.position($0))" }
        }
        // SQL only reduces the candidates: the filter decides which of them are rows.
        for (index, constant) in (source.filter?.constants ?? []).enumerated() {
            terms.append("t.\(table.sql.columns[constant.slot]) = ?\(index + 2)")
        }
        if source.filter?.exclusion != nil { terms.append("t.id <> ?2") }
        let isFiltered = source.owner == nil ? source.kinds.count < table.layout.kinds.count : source.isFiltered
        if isFiltered, table.layout.hasKinds {
            terms.append("t.nest_entity IN (\(source.kinds.map { "\($0.rawValue)" }.joined(separator: ", ")))")
        }
        self.from = from + (terms.isEmpty ? "" : " WHERE " + terms.joined(separator: " AND "))
        self.position = position
    }

    private var order: String {
        var terms = self.source.sort.compactMap { term in
            term.slot.map { "t.\(self.table.columns[$0])\(term.order.isAscending ? "" : " DESC")" }
        }
        if terms.isEmpty, let position = self.position { terms.append(position) }
        return "ORDER BY " + (terms + ["t.id"]).joined(separator: ", ")
    }

    var keys: String {
        let values = self.source.sort.compactMap { $0.slot }.map { ", t.\(self.table.columns[$0])" }.joined()
        let position = self.source.sort.isEmpty ? self.position ?? "0" : "0"
        return "SELECT t.id, \(position)\(values) \(self.from) \(self.source.isOrderedBySQL ? self.order : "")"
    }

    var candidates: String { "SELECT t.id, \(self.position ?? "0") \(self.from)" }

    func hasMore(_ count: Int) -> String { "SELECT 1 \(self.from) LIMIT 1 OFFSET \(count)" }

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
