import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// A result that is being read: what has happened to it since it was asked for.
final class LoadingResult {
    private enum Touch {
        /// An object that may be a row, or a pair that may lead to one.
        case candidate(TouchedObject)
        /// An object that a pair may lead to.
        case row(TouchedObject)
        case affected(ObjectID)
        case reposition(Reposition)
    }

    private var touches: [(revision: Revision, touch: Touch)] = []
    private let countMax: Int
    private let cost: EvaluationCost
    /// What making up for it may take, by estimate, and what it takes so far.
    private let nanosecondsMax: Int
    private var nanoseconds = 0
    /// More has happened than is worth being made up for.
    private(set) var isOverrun = false

    /// What has been noted.
    var count: Int { self.touches.count }

    /// What is read must be of this revision or a later one: only what has happened after it is known.
    let base: Revision

    init(after base: Revision, countMax: Int, cost: EvaluationCost, nanosecondsMax: Int) {
        self.base = base
        self.countMax = countMax
        self.cost = cost
        self.nanosecondsMax = nanosecondsMax
    }

    func note(candidate object: TouchedObject, _ revision: Revision) {
        self.append(.candidate(object), revision, self.nanoseconds(object))
    }

    func note(row object: TouchedObject, _ revision: Revision) {
        self.append(.row(object), revision, self.nanoseconds(object))
    }

    func note(affected id: ObjectID, _ revision: Revision) {
        self.append(.affected(id), revision, self.cost.nanoseconds)
    }

    func note(_ reposition: Reposition, _ revision: Revision) { self.append(.reposition(reposition), revision, 0) }

    private func nanoseconds(_ object: TouchedObject) -> Int {
        max(object.before.map(self.cost.nanoseconds) ?? 0, object.after.map(self.cost.nanoseconds) ?? 0)
    }

    func overrun() {
        self.isOverrun = true
        self.touches = []
    }

    private func append(_ touch: Touch, _ revision: Revision, _ nanoseconds: Int) {
        guard !self.isOverrun else { return }
        self.nanoseconds += nanoseconds
        guard self.touches.count < self.countMax, self.nanoseconds <= self.nanosecondsMax else { return self.overrun() }
        self.touches.append((revision, touch))
    }

    /// The net changes of the rows after a revision. `result` is as it was then, `objects` are as they are now.
    func changes<Objects: RelatedObjects>(of result: LiveResult, after base: Revision, _ objects: Objects)
        throws(Objects.Failure) -> [RowChange]
    {
        let later = self.touches.filter { $0.revision > base }.map(\.touch)
        return try result.source.isComputed ? self.computed(later, result, objects) : self.plain(later, result)
    }

    private func computed<Objects: RelatedObjects>(
        _ later: [Touch],
        _ result: LiveResult,
        _ objects: Objects
    ) throws(Objects.Failure) -> [RowChange] {
        var touches = ComputedChanges()
        for touch in later {
            switch touch {
            case .candidate(let object) where result.source.isPaired: touches.note(pair: object)
            case .candidate(let object), .row(let object): touches.note(row: object)
            case .affected(let id): touches.note(affected: id)
            case .reposition(let reposition): touches.note(renumbered: reposition.id)
            }
        }
        return try touches.rowChanges(of: result, countMax: .max, objects).changes
    }

    private func plain(_ later: [Touch], _ result: LiveResult) -> [RowChange] {
        var net: [ObjectID: RowChange] = [:]
        for touch in later {
            switch touch {
            case .candidate(let object):
                if let change = result.source.rowChange(object) { net.merge(change) }
            case .reposition(let reposition):
                net.merge(RowChange(reposition))
            case .row, .affected:
                break
            }
        }
        // Of a renumbered object only its position is known: it may be no row.
        return net.values.filter { change in
            guard let before = change.before else { return change.after != nil }
            return result.tree.contains(before)
        }
    }
}

extension RowChange {
    /// A row that was renumbered: both keys find it, neither changes it.
    init(_ reposition: Reposition) {
        self.init(
            id: reposition.id,
            before: RowKey(position: reposition.oldPosition, id: reposition.id),
            after: RowKey(position: reposition.newPosition, id: reposition.id),
            isPlaced: false
        )
    }
}
