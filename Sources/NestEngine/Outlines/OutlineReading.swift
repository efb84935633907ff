import NestModel
import NestSchema
import NestStore

/// The background read of an outline, and the request that waits for it.
final class OutlineReading {
    enum Waiter {
        case fetch(OutlinePlan, requestID: UInt32)
        /// `insteadOf`: the view that it replaces. `reason`: why the client gets a snapshot.
        case subscribe(OutlinePlan, requestID: UInt32, insteadOf: UInt32?, reason: String)
        case setExpanded(view: UInt32, requestID: UInt32)
        /// The rows of this outline could not be followed. No request waits for it.
        case refresh(UInt32)
    }

    /// With the fold states that the rows are to have.
    private(set) var source: OutlineSource
    let waiter: Waiter
    let connection: ConnectionID
    /// States of SET_EXPANDED that the read applies to those of `source` first, because many objects must be read for
    /// it.
    let states: [ObjectID: Bool]
    /// The head when the read began: the rows are of this revision or a later one.
    private(set) var base: Revision
    private(set) var attempts = 1
    /// The changes since, as far as they concern the outline.
    private var objects: [OutlineBatch.Object] = []
    /// Tables with changes that are not known one by one, and the last revision with such changes.
    private var lost: [EntityNumber: Revision] = [:]
    private var isOverrun = false
    private let watched: Set<EntityNumber>

    init(
        _ source: OutlineSource,
        _ waiter: Waiter,
        _ connection: ConnectionID,
        states: [ObjectID: Bool] = [:],
        after base: Revision
    ) {
        self.source = source
        self.waiter = waiter
        self.connection = connection
        self.states = states
        self.base = base
        self.watched = OutlineSource.tables(of: source.filterPaths)
    }

    private func isConcerned(_ table: EntityNumber) -> Bool {
        table == self.source.table || self.watched.contains(table)
    }

    /// Notes the changes of a batch. `lost`: tables with changes that are not listed. `head`: the revision after them.
    func note(_ objects: [OutlineBatch.Object], lost: Set<EntityNumber>, head: Revision, max: Int) {
        for table in lost where self.isConcerned(table) { self.lost[table] = head }
        guard !self.isOverrun else { return }
        self.objects += objects.filter { self.isConcerned($0.table) }
        if self.objects.count > max {
            self.isOverrun = true
            self.objects = []
        }
    }

    /// Returns the changes after the revision of the rows; `nil` if the rows must be read once more.
    func changes(after revision: Revision, _ store: Store, max: Int) throws(StoreError) -> OutlineBatch? {
        guard !self.isOverrun, revision >= self.base, self.lost.values.allSatisfy({ $0 <= revision }) else {
            return nil
        }
        var batch = OutlineBatch(store, objectsMax: max)
        for object in self.objects where object.revision > revision {
            let isWatched = self.watched.contains(object.table)
            batch.note(object.row, object.table, hasRows: object.table == self.source.table, isWatched: isWatched)
        }
        return batch
    }

    /// Notes that changes were committed that are not known.
    func lose() { self.isOverrun = true }

    /// Takes the fold states that the read has found.
    func take(_ folds: OutlineFolds) { self.source.folds = folds }

    /// Prepares another read.
    func restart(after base: Revision) {
        self.base = base
        self.attempts += 1
        self.objects = []
        self.lost = [:]
        self.isOverrun = false
    }

    /// Whether the outline is read anew, and no request waits.
    var isRefresh: Bool {
        if case .refresh = self.waiter { true } else { false }
    }
}
