import NestLiveQuery
import NestModel
import NestSchema
import NestStore

/// The tables and paths on which the outlines depend, and those that are being read.
struct OutlineInterest {
    /// How many have rows of a table, and how many read other objects in it.
    private var rows: [EntityNumber: Int] = [:]
    private var watched: [EntityNumber: Int] = [:]
    private var filters: [CompiledPath: Int] = [:]
    private var columns: [CompiledPath: Int] = [:]

    var filterPaths: [CompiledPath] { Array(self.filters.keys) }
    var columnPaths: [CompiledPath] { Array(self.columns.keys) }
    var tables: Set<EntityNumber> { Set(self.rows.keys).union(self.watched.keys) }

    mutating func add(_ source: OutlineSource) { self.count(source, 1) }
    mutating func remove(_ source: OutlineSource) { self.count(source, -1) }

    private mutating func count(_ source: OutlineSource, _ number: Int) {
        func add<Key>(_ key: Key, _ counts: inout [Key: Int]) {
            let count = counts[key, default: 0] + number
            counts[key] = count == 0 ? nil : count
        }
        add(source.table, &self.rows)
        for table in source.watchedTables { add(table, &self.watched) }
        for path in Set(source.filterPaths) { add(path, &self.filters) }
        for path in Set(source.columnPaths) { add(path, &self.columns) }
    }

    func hasRows(_ table: EntityNumber) -> Bool { self.rows[table] != nil }
    func watches(_ table: EntityNumber) -> Bool { self.watched[table] != nil }
}

/// The changes of a batch, by table, as far as outlines follow them one by one.
struct OutlineBatch {
    /// A changed object, with the table of its rows.
    typealias Object = (revision: Revision, row: ChangedRow, table: EntityNumber)

    private let store: Store
    private let objectsMax: Int
    private(set) var tables: [EntityNumber: OutlineChanges] = [:]
    private(set) var related = DependencyChanges()
    /// Tables with more changes than are followed, or with changes that are not listed.
    private(set) var lost: Set<EntityNumber>
    /// Paths by which too many objects may be affected.
    private var lostPaths: Set<CompiledPath> = []
    /// The objects whose columns may have other values, by the path of the column.
    private var columns: [CompiledPath: Set<ObjectID>] = [:]

    init(_ store: Store, lost: Set<EntityNumber> = [], objectsMax: Int) {
        self.store = store
        self.objectsMax = objectsMax
        self.lost = lost
    }

    mutating func note(_ object: ChangedRow, _ table: EntityNumber, hasRows: Bool, isWatched: Bool) {
        guard !self.lost.contains(table) else { return }
        if hasRows {
            let changes = self.tables[table] ?? OutlineChanges(table, self.store)
            self.tables[table] = changes
            changes.note(object)
        }
        if isWatched { self.related.note(object, table) }
        if self.tables[table]?.count ?? 0 > self.objectsMax || self.related.count > self.objectsMax {
            self.tables[table] = nil
            self.lost.insert(table)
        }
    }

    /// Finds the objects that are affected by changes of others. Lists at most `max` of them for each path.
    mutating func finish(
        _ filterPaths: [CompiledPath],
        columns columnPaths: [CompiledPath] = [],
        max: Int
    ) throws(StoreError) {
        guard self.related.count > 0 else { return }
        for path in columnPaths {
            if let roots = try self.related.roots(of: path, self.store.objects, max: max) {
                self.columns[path] = roots
            } else {
                self.lostPaths.insert(path)
            }
        }
        for path in filterPaths {
            guard let roots = try self.related.roots(of: path, self.store.objects, max: max) else {
                self.lostPaths.insert(path)
                continue
            }
            guard !roots.isEmpty, !self.lost.contains(path.table) else { continue }
            let changes = self.tables[path.table] ?? OutlineChanges(path.table, self.store)
            self.tables[path.table] = changes
            changes.note(affected: roots, by: path)
        }
    }

    /// Whether the changes that decide which rows an outline shows are not known one by one.
    func isLost(_ table: EntityNumber, _ filterPaths: [CompiledPath]) -> Bool {
        if self.lost.isEmpty && self.lostPaths.isEmpty { return false }
        return self.lost.contains(table) || filterPaths.contains(where: self.isLost)
    }

    private func isLost(_ path: CompiledPath) -> Bool {
        self.lostPaths.contains(path) || path.steps.contains { self.lost.contains($0.table) }
    }

    /// Returns the objects whose columns by these paths may have other values; `nil` if that is not known.
    func changed(_ columnPaths: [CompiledPath]) -> [Set<ObjectID>]? {
        if columnPaths.contains(where: { self.isLost($0) || self.lost.contains($0.table) }) { return nil }
        return columnPaths.compactMap { self.columns[$0] }.filter { !$0.isEmpty }
    }
}

/// What the outlines of a batch may still cost.
struct OutlineBudget {
    /// Objects that are examined to follow changes and to read rows anew.
    var objects: Int
    /// Changed objects that are followed, counted for each outline.
    var changes: Int
}

/// How much work outlines have been, in total. For tests and measurements.
package struct OutlineWork: Sendable {
    /// Outlines that a batch concerned.
    package var followed = 0
    /// Windows that were compared with what was sent.
    package var compared = 0
    /// Rows of windows whose values were read.
    package var valuesRead = 0
    /// Objects examined between two commits.
    package var examined = 0
    /// Outlines that were read anew, at once or in the background.
    package var readAgain = 0
}
