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
    let source: OutlineSource
    let waiter: Waiter
    let connection: ConnectionID
    /// The head when the read began: the rows are of this revision or a later one.
    private(set) var base: Revision
    private(set) var attempts = 1
    /// The changes since.
    private var changes: [ChangeSet] = []
    private var changeCount = 0
    private var isOverrun = false

    init(_ source: OutlineSource, _ waiter: Waiter, _ connection: ConnectionID, after base: Revision) {
        self.source = source
        self.waiter = waiter
        self.connection = connection
        self.base = base
    }

    /// Notes the changes of a batch.
    func note(_ changes: [ChangeSet], max: Int) {
        guard !self.isOverrun else { return }
        self.changeCount += changes.reduce(0) { $0 + $1.changedRows.count }
        guard self.changeCount <= max, changes.allSatisfy({ $0.blockCount == 0 }) else {
            self.isOverrun = true
            self.changes = []
            return
        }
        self.changes += changes
    }

    /// Returns the changes after the revision of the rows; `nil` if the rows must be read once more.
    func changes(after revision: Revision) -> [ChangeSet]? {
        guard !self.isOverrun, revision >= self.base else { return nil }
        return self.changes.filter { $0.revision > revision }
    }

    /// Prepares another read.
    func restart(after base: Revision) {
        self.base = base
        self.attempts += 1
        self.changes = []
        self.changeCount = 0
        self.isOverrun = false
    }
}
