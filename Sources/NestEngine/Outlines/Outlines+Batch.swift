import NestLiveQuery
import NestModel
import NestSchema
import NestStore

/// Brings the outlines to the state after a batch, and sends the differences.
extension Outlines {
    /// `base`: the head before the batch.
    func push(_ changes: [ChangeSet], base: Revision, _ effects: inout [EngineEffect]) throws(StoreError) {
        guard self.count > 0 || !self.pending.isEmpty else { return }
        for reading in self.pending.values { reading.note(changes, max: self.changesMax) }
        guard self.count > 0 else { return }
        let outlines = self.sorted
        let batch = try OutlineBatch(changes, outlines.map(\.source), self.store, changesMax: self.changesMax)
        for outline in outlines where self[outline.id] === outline {
            guard !outline.isStale else {
                if let changes = batch?.changes(outline.source) { outline.note(changes) }
                continue
            }
            do throws(StoreError) {
                if let batch {
                    try self.push(outline, batch, base: base, &effects)
                } else {
                    try self.readAgain(outline, base: base, &effects)
                }
            } catch {
                guard !error.isFatal else { throw error }
                self.end(outline, error.nestError, &effects)
            }
        }
    }

    private func push(
        _ outline: Outline,
        _ batch: OutlineBatch,
        base: Revision,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        if batch.changesColumns(outline.source) { outline.isAllChanged = true }
        let changes = batch.changes(outline.source)
        if let changes {
            outline.note(changes)
            do {
                let isKnown = try self.update(outline, changes)
                if !isKnown { return try self.readAgain(outline, base: base, &effects) }
            } catch StoreError.postponed(.resultTooExpensive) {
                return try self.readAgain(outline, base: base, &effects)
            }
        }
        guard changes != nil || outline.isAllChanged else { return }
        guard outline.laggingSince == nil else { return }
        let cost = (changes?.count ?? 0) + outline.range.count / Self.rowsPerWork
        guard self.lagging.takeWork(changeCount: cost) else {
            self.fallBehind(outline, base: base)
            return
        }
        try self.sendDifference(outline, from: outline.lastChange, &effects)
    }

    /// The rows of a window that are compared for one unit of the work limit of a batch.
    private static let rowsPerWork = 16

    /// Updates the rows of an outline. Returns `false` if they must be read anew.
    private func update(_ outline: Outline, _ changes: OutlineChanges) throws(StoreError) -> Bool {
        guard let scope = self.connections[outline.connection]?.scope else { return true }
        let hadRoot = outline.hasRoot
        outline.hasRoot = try self.hasRoot(outline.source, scope)
        guard hadRoot, outline.hasRoot else {
            if hadRoot { outline.rows.reset([]) }
            return hadRoot || !outline.hasRoot
        }
        let room = outline.source.rowsMax - outline.rows.count
        let reader = self.reader(outline.source, room: room + changes.count)
        try OutlineUpdate.apply(changes, to: &outline.rows, outline.source, reader)
        return true
    }

    /// Lets a connection lag behind an outline until its turn.
    private func fallBehind(_ outline: Outline, base: Revision) {
        outline.laggingSince = base
        self.connections[outline.connection]?.laggingViews.insert(outline.id)
        self.lagging.append(outline.connection, outline.id)
    }

    /// Reads the rows of an outline anew: at once if they are few, otherwise in the background, while the connection
    /// lags.
    private func readAgain(_ outline: Outline, base: Revision, _ effects: inout [EngineEffect]) throws(StoreError) {
        guard let connection = self.connections[outline.connection] else { return }
        outline.isAllChanged = true
        do {
            let (rows, hasRoot) = try self.read(outline.source, connection.scope)
            outline.hasRoot = hasRoot
            outline.rows.replace(with: rows)
            guard outline.laggingSince == nil else { return }
            try self.sendDifference(outline, from: outline.lastChange, &effects)
        } catch StoreError.postponed(.resultTooExpensive) {
            outline.isStale = true
            if outline.laggingSince == nil { outline.laggingSince = base }
            connection.laggingViews.insert(outline.id)
            self.stale.append(outline.id)
        }
    }
}

/// The changes of a batch, by table, as far as outlines follow them.
struct OutlineBatch {
    private var tables: [EntityNumber: OutlineChanges] = [:]
    private var related = DependencyChanges()

    /// Returns `nil` if the changes are too many to be followed one by one, or are not listed.
    init?(
        _ changes: [ChangeSet],
        _ sources: [OutlineSource],
        _ store: Store,
        changesMax: Int
    ) throws(StoreError) {
        guard changes.allSatisfy({ $0.blockCount == 0 }) else { return nil }
        let own = Set(sources.map(\.table))
        let filterPaths = Set(sources.flatMap(\.filterPaths))
        let watched = Set((filterPaths + sources.flatMap(\.columnPaths)).flatMap { [$0.table] + $0.steps.map(\.table) })
        var count = 0
        for object in changes.lazy.flatMap(\.changedRows) {
            guard let table = store.layout[object.entity]?.number else { continue }
            if own.contains(table) {
                if self.tables[table] == nil { self.tables[table] = OutlineChanges(table, store) }
                self.tables[table]?.note(object)
                count += 1
            }
            if watched.contains(table) {
                self.related.note(object, table)
                count += 1
            }
            guard count <= changesMax else { return nil }
        }
        for path in filterPaths {
            let roots = try self.related.roots(of: path, store.objects)
            guard !roots.isEmpty else { continue }
            if self.tables[path.table] == nil { self.tables[path.table] = OutlineChanges(path.table, store) }
            self.tables[path.table]?.note(affected: roots)
        }
    }

    func changes(_ source: OutlineSource) -> OutlineChanges? { self.tables[source.table] }

    /// Whether objects have changed that the columns of an outline may read.
    func changesColumns(_ source: OutlineSource) -> Bool {
        source.columnPaths.contains { path in
            !self.related[path.table].isEmpty || path.steps.contains { !self.related[$0.table].isEmpty }
        }
    }
}
