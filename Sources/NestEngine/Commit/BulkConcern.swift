import NestModel
import NestSchema

/// Which results the objects of a bulk write concern, found out while they are streamed to the journal.
///
/// A few are read from there again when the write is done, and followed one by one. Of very many only the results are
/// kept: these lag and are read anew. Made for one batch.
final class BulkConcern {
    /// Objects followed one by one.
    static let followedMax = 32_768

    private let results: ResultRegistry
    private let layout: ModelLayout
    private var count = 0
    private var entries: [ObjectIdentifier: ResultRegistry.Entry] = [:]
    private var tables: Set<EntityNumber> = []

    init(_ results: ResultRegistry, _ layout: ModelLayout) {
        self.results = results
        self.layout = layout
    }

    /// More was streamed than can be followed.
    var isOverrun: Bool { self.count > Self.followedMax }

    /// Whether the object's block must be read again.
    func note(_ object: TouchedObject) -> Bool {
        guard let table = self.layout[object.entity]?.number, self.results.isConcerned(object, table) else {
            return false
        }
        self.count += 1
        self.tables.insert(table)
        self.results.forEachRouted(object, table) { self.entries[ObjectIdentifier($0)] = $0 }
        self.results.forEachHolder(object.id, table) { self.entries[ObjectIdentifier($0)] = $0 }
        return !self.isOverrun
    }

    /// Every result that something streamed may concern.
    var concerned: [ResultRegistry.Entry] {
        var all = self.entries
        for table in self.tables {
            for entry in self.results.unrouted(table) { all[ObjectIdentifier(entry)] = entry }
        }
        return all.values.sorted { $0.number < $1.number }
    }
}
