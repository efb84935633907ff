import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestSchema

/// The changes of a result that is being read, since the read was requested.
final class LoadingResult {
    private enum NotedChange {
        /// An object that may be a row, or a pair that may lead to one.
        case candidate(ChangedRow)
        /// An object that a pair may lead to.
        case row(ChangedRow)
        case affected(ObjectID)
        case reposition(Reposition)
    }

    private var noted: [(revision: Revision, change: NotedChange)] = []
    private let countMax: Int
    private let cost: EvaluationCost
    /// The estimated time that applying the changes may take, and what it takes so far.
    private let nanosecondsMax: Int
    private var nanoseconds = 0
    /// Whether there were more changes than are worth applying.
    private(set) var isOverrun = false

    /// The number of noted changes.
    var count: Int { self.noted.count }

    /// The rows must be read at this revision or a later one: only later changes are known.
    let base: Revision

    init(after base: Revision, countMax: Int, cost: EvaluationCost, nanosecondsMax: Int) {
        self.base = base
        self.countMax = countMax
        self.cost = cost
        self.nanosecondsMax = nanosecondsMax
    }

    func note(candidate object: ChangedRow, _ revision: Revision) {
        self.append(.candidate(object), revision, self.nanoseconds(object))
    }

    func note(row object: ChangedRow, _ revision: Revision) {
        self.append(.row(object), revision, self.nanoseconds(object))
    }

    func note(affected id: ObjectID, _ revision: Revision) {
        self.append(.affected(id), revision, self.cost.nanoseconds)
    }

    func note(_ reposition: Reposition, _ revision: Revision) { self.append(.reposition(reposition), revision, 0) }

    private func nanoseconds(_ object: ChangedRow) -> Int {
        max(object.before.map(self.cost.nanoseconds) ?? 0, object.after.map(self.cost.nanoseconds) ?? 0)
    }

    func overrun() {
        self.isOverrun = true
        self.noted = []
    }

    private func append(_ change: NotedChange, _ revision: Revision, _ nanoseconds: Int) {
        guard !self.isOverrun else { return }
        self.nanoseconds += nanoseconds
        guard self.noted.count < self.countMax, self.nanoseconds <= self.nanosecondsMax else { return self.overrun() }
        self.noted.append((revision, change))
    }

    /// Returns the net changes of the rows after a revision. `result` has the state of that revision, `objects` the
    /// current one.
    func changes<Objects: RelatedObjects>(of result: LiveResult, after base: Revision, _ objects: Objects)
        throws(Objects.Failure) -> [RowChange]
    {
        let later = self.noted.filter { $0.revision > base }.map(\.change)
        return try result.source.isComputed ? self.computed(later, result, objects) : self.plain(later, result)
    }

    private func computed<Objects: RelatedObjects>(
        _ later: [NotedChange],
        _ result: LiveResult,
        _ objects: Objects
    ) throws(Objects.Failure) -> [RowChange] {
        var changes = ComputedChanges()
        for change in later {
            switch change {
            case .candidate(let object) where result.source.isPaired: changes.note(pair: object)
            case .candidate(let object), .row(let object): changes.note(row: object)
            case .affected(let id): changes.note(affected: id)
            case .reposition(let reposition): changes.note(renumbered: reposition.id)
            }
        }
        return try changes.rowChanges(of: result, countMax: .max, objects).changes
    }

    private func plain(_ later: [NotedChange], _ result: LiveResult) -> [RowChange] {
        var net: [ObjectID: RowChange] = [:]
        for change in later {
            switch change {
            case .candidate(let object):
                if let change = result.source.rowChange(object) { net.merge(change) }
            case .reposition(let reposition):
                net.merge(RowChange(reposition))
            case .row, .affected:
                break
            }
        }
        // Only the position of a renumbered object is known: it may not be a row.
        return net.values.filter { change in
            guard let before = change.before else { return change.after != nil }
            return result.tree.contains(before)
        }
    }
}

extension RowChange {
    /// Creates the change of a renumbered row: it has a new key, and the same index in the order.
    init(_ reposition: Reposition) {
        self.init(
            id: reposition.id,
            before: RowKey(position: reposition.oldPosition, id: reposition.id),
            after: RowKey(position: reposition.newPosition, id: reposition.id),
            isPlaced: false
        )
    }
}
