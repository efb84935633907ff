import NestModel
import NestStore
import NestProtocol
import NestSchema

/// The journal after a revision, read once for all results that are rebuilt at about the same time. When all clients
/// return after a restart, each to a list of its own, the engine reads the journal only once.
final class RecentChanges {
    enum Step {
        case change(ObjectChange)
        case reposition(Reposition)
    }

    private let store: Store
    /// The revision after which the steps begin; `nil` when nothing has been read.
    private var base: Revision?
    private var head = Revision(0)
    private var steps: [(revision: Revision, step: Step)] = []
    private var stepsOfObject: [ObjectID: [Int]] = [:]
    private var objectsOfTable: [EntityNumber: Set<ObjectID>] = [:]
    /// Objects by the references that they hold, or have held after the base.
    private var objectsOfRoute: [ResultRegistry.Route: Set<ObjectID>] = [:]
    /// The revision after which there are too many changes to read.
    private var tooMuchAfter: Revision?

    init(_ store: Store) {
        self.store = store
    }

    /// Returns the steps after a revision that may affect a result, oldest first, and the number of steps and objects
    /// read for it. The steps are `nil` when there are too many to read.
    func steps(
        of source: ResultSource,
        after base: Revision
    ) throws(StoreError) -> (steps: [(revision: Revision, step: Step)]?, readCount: Int) {
        guard let readCount = try self.read(after: base) else { return (nil, 0) }
        var objects = self.objectsOfTable[source.table] ?? []
        if let route = ResultRegistry.route(source), route.value.referenceValue != nil {
            objects = self.objectsOfRoute[route] ?? []
        }
        let indexes = objects.flatMap { self.stepsOfObject[$0] ?? [] }.sorted()
        let found = indexes.lazy.map { self.steps[$0] }.filter { $0.revision > base }
        return (Array(found), readCount + indexes.count)
    }

    /// Reads the missing part of the journal. Returns `nil` when there is too much of it.
    private func read(after base: Revision) throws(StoreError) -> Int? {
        if let tooMuch = self.tooMuchAfter, base <= tooMuch { return nil }
        if self.base.map({ base < $0 }) ?? true { self.clear(base) }
        let first = self.steps.count
        do throws(StoreError) {
            try self.store.forEachChange(after: self.head) { (revision, change) throws(StoreError) in
                try self.append(revision, .change(change))
            } reposition: { (revision, reposition) throws(StoreError) in
                try self.append(revision, .reposition(reposition))
            }
        } catch .postponed(.tooManyChanges) {
            self.tooMuchAfter = base
            self.clear(nil)
            return nil
        }
        self.head = self.store.head
        let objects = self.stepsOfObject.count
        for index in first..<self.steps.count { try self.note(index) }
        return self.steps.count - first + self.stepsOfObject.count - objects
    }

    private func append(_ revision: Revision, _ step: Step) throws(StoreError) {
        guard self.steps.count < Limits.resumeJournalRevisionsMax else { throw StoreError.postponed(.tooManyChanges) }
        self.steps.append((revision, step))
    }

    private func clear(_ base: Revision?) {
        (self.base, self.head) = (base, base ?? Revision(0))
        (self.steps, self.stepsOfObject, self.objectsOfTable, self.objectsOfRoute) = ([], [:], [:], [:])
    }

    /// Indexes a step under every list that its object is in, or was in after the base.
    private func note(_ index: Int) throws(StoreError) {
        let (entity, id) =
            switch self.steps[index].step {
            case .change(let change): (change.entity, change.id)
            case .reposition(let reposition): (reposition.entity, reposition.id)
            }
        guard let layout = self.store.layout[entity] else { return }
        func note(_ slot: Int, _ value: AttributeValue) {
            guard value.referenceValue != nil else { return }
            let route = ResultRegistry.Route(table: layout.number, slot: slot, value: value)
            self.objectsOfRoute[route, default: []].insert(id)
        }
        if self.stepsOfObject[id] == nil {
            self.objectsOfTable[layout.number, default: []].insert(id)
            let row = try self.store.row(layout.number, id)
            row?.values.forEachReference { note($0, .reference($1)) }
        }
        self.stepsOfObject[id, default: []].append(index)
        guard case .change(let change) = self.steps[index].step else { return }
        for value in change.values {
            note(value.slot, value.before)
            note(value.slot, value.after)
        }
        for placing in change.placings {
            let slot = layout.placedSlots[placing.place]
            for owner in [placing.before?.owner, placing.after?.owner].compactMap({ $0 }) {
                note(slot, .reference(owner))
            }
        }
    }
}
