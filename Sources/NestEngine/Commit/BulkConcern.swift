import NestModel
import NestSchema

/// Finds the results that the objects of a bulk write affect, while the objects are streamed to the journal.
///
/// Up to `followedMax` objects are read from the journal again after the write and followed one by one. With more
/// objects, only the affected results are kept: they lag and are read anew. One instance serves one batch.
final class BulkConcern {
    /// The maximum number of objects that are followed one by one.
    static let followedMax = 32_768

    private let results: ResultRegistry
    private let layout: ModelLayout
    private var count = 0
    private var entries: [ObjectIdentifier: ResultRegistry.Entry] = [:]
    private var tables: Set<EntityNumber> = []
    /// The tables on which outlines depend.
    private let outlineTables: Set<EntityNumber>
    /// The blocks that are read again for outlines only.
    private var outlineBlockCount = 0
    private static let outlineBlocksMax = 16
    /// Those of these tables with changes in blocks that are not read again.
    private(set) var unlistedTables: Set<EntityNumber> = []

    /// `outlineTables`: the tables on which outlines depend.
    init(_ results: ResultRegistry, _ layout: ModelLayout, outlineTables: Set<EntityNumber>) {
        self.results = results
        self.layout = layout
        self.outlineTables = outlineTables
    }

    /// Whether more objects were streamed than can be followed.
    var isOverrun: Bool { self.count > Self.followedMax }

    /// Notes a streamed object. Returns whether its block must be read again.
    func note(_ object: ChangedRow) -> Bool {
        guard let table = self.layout[object.entity]?.number else { return false }
        guard self.results.isConcerned(object, table) else { return self.noteForOutlines(table) }
        if self.isOverrun { _ = self.noteForOutlines(table) }
        self.count += 1
        self.tables.insert(table)
        if let results = self.results[table: table] {
            results.forEachRouted(object) { self.entries[ObjectIdentifier($0)] = $0 }
            self.results.forEachHolder(object.id, results) { self.entries[ObjectIdentifier($0)] = $0 }
        }
        return !self.isOverrun
    }

    /// Notes an object that concerns no result. Returns whether its block must be read again. Large writes are not
    /// followed one by one: results would have to read their blocks too.
    private func noteForOutlines(_ table: EntityNumber) -> Bool {
        guard self.outlineTables.contains(table) else { return false }
        if self.outlineBlockCount < Self.outlineBlocksMax, !self.isOverrun {
            self.outlineBlockCount += 1
            return true
        }
        self.unlistedTables.insert(table)
        return false
    }

    /// Notes the objects of a prepared write, which are not known one by one. Only the topmost ones refer to other
    /// objects than those of the write, and they are noted one by one.
    func noteUnlisted(_ changes: ChangeSet) {
        guard let prepared = changes.preparedPart?.ids, !prepared.isEmpty else { return }
        for table in Set(changes.streamedEntities.compactMap { self.layout[$0]?.number }) {
            self.count += Self.followedMax + 1
            self.tables.insert(table)
            self.results[table: table]?.forEachRouted { value, entry in
                if let owner = value.referenceValue, !prepared.contains(owner) { return }
                self.entries[ObjectIdentifier(entry)] = entry
            }
            if self.outlineTables.contains(table) { self.unlistedTables.insert(table) }
        }
    }

    /// The results that the streamed objects may affect.
    var concerned: [ResultRegistry.Entry] {
        var all = self.entries
        for table in self.tables {
            for entry in self.results.unrouted(table) { all[ObjectIdentifier(entry)] = entry }
        }
        return all.values.sorted { $0.number < $1.number }
    }
}
