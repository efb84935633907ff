import NestModel
import NestProtocol
import NestTestSupport
import Testing
import NestSchema

@testable import NestStore

/// A random model with a store and a naive graph of it, and random transactions that both of them run.
final class ModelHistory {
    /// One committed transaction, with the graph before and after it.
    struct Entry {
        var revision: Revision
        var before: NaiveGraph
        var after: NaiveGraph
        /// The transaction may have placed objects or made pairs again where they were, which the graphs do not show.
        var isAnew = false
        /// All objects that its mutations name: these may be at a new position where the graphs show none.
        var named: Set<ObjectID> = []
    }

    /// The store and the graph no longer agree: a recorded issue states why.
    struct Disagreement: Error {}

    let seed: UInt64
    var random: SeededRandom
    private let draft: ModelDraft
    let model: ManagedObjectModel
    let fixture: Fixture
    let invariants: StoredInvariants
    /// Whether the store is a file that is closed and opened again at times.
    private let isReopened: Bool
    var graph: NaiveGraph
    private(set) var state: StoredState
    private(set) var log: [Entry] = []
    private(set) var step = 0
    private(set) var accepted = 0
    /// The ids that session 1 has reserved and not used.
    private(set) var reserved: Set<ObjectID> = []
    /// How many objects got such an id.
    private(set) var usedCount = 0
    /// How often each error code was returned.
    private(set) var refused: [ErrorCode: Int] = [:]
    private var idsSeen: Set<ObjectID> = []
    private var mutations: [Mutation] = []
    /// The change sets that the replica has not made yet.
    private var written: [ChangeSet] = []
    /// When the stores change their roles.
    private var roles: SeededRandom

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        self.draft = random.smallModelDraft()
        self.model = try self.draft.compile()
        let isReopened = seed % 8 == 5
        self.isReopened = isReopened
        self.roles = SeededRandom(seed: ~seed)
        self.fixture = try Fixture(self.model, inMemory: !isReopened, isReplicated: true) { configuration in
            // Small limits, so that changes are streamed and gaps run out all the time, or the limits of a server.
            guard !seed.isMultiple(of: 4) else { return }
            configuration.streamedFrom = random.below(5)
            configuration.bulkObjectsInMemoryMax = configuration.streamedFrom
            configuration.inlineBytesMax = random.below(400)
            configuration.orderStep = Int64(random.below(4) + 2)
        }
        self.random = random
        self.graph = NaiveGraph(newStoreOf: self.model)
        self.state = try StoredState(self.fixture.store)
        self.invariants = StoredInvariants(self.fixture.store.layout)
        self.idsSeen = Set(self.graph.objects.keys)
        self.expect(self.state.graph == self.graph, "a new store")
    }

    deinit {
        try? self.fixture.store.close()
    }

    var what: String { "NEST_SEED=\(self.seed), step \(self.step)" }

    func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
        if !condition { Issue.record("\(self.what): \(text())") }
    }

    private func fail(_ text: String) -> Disagreement {
        let steps = self.mutations.map { "    \($0.brief)" }.joined(separator: "\n")
        Issue.record("\(self.what): \(text)\n\(steps)\n  of the model\n    \(self.draft.brief)")
        return Disagreement()
    }

    // MARK: A transaction

    /// Runs one random transaction on both sides, or several in one group. The sides must agree on everything.
    func transact(size: Int = 30) throws {
        self.step += 1
        if self.random.oneIn(5) { try self.reserve() }
        let time = self.fixture.time + 1
        if self.random.oneIn(4) {
            try self.fixture.inGroup { group in
                for _ in 0..<(2 + self.random.below(3)) {
                    try self.transact(size, time) { body in
                        try group.request(inSavepoint: true) { graph in
                            try body(graph)
                            return Fixture.description
                        }?.changes
                    }
                }
            }
        } else {
            try self.transact(size, time) { body in
                let inSavepoint = self.mutations.count > 1 || self.random.oneIn(2)
                return try self.fixture.commit(inSavepoint: inSavepoint, body)
            }
        }
        self.expect(self.fixture.store.head == self.log.last?.revision ?? Revision(0), "the head is wrong")
        if self.step.isMultiple(of: 4) { try self.checkInvariants() }
        if self.isReopened, self.random.oneIn(16) { try self.fixture.reopen() }
        try self.replay()
    }

    /// Reserves ids for session 1, whose transactions these are, or for another one.
    private func reserve() throws {
        let (count, session) = (1 + self.random.below(4), UInt64(self.random.oneIn(4) ? 2 : 1))
        let store = self.fixture.store
        let first = try store.access { try store.reserveIDs(count, of: session, unsaved: nil) }
        let ids = (0..<Int64(count)).map { ObjectID(first.rawValue + $0) }
        self.expect(self.idsSeen.isDisjoint(with: ids) && self.reserved.isDisjoint(with: ids), "ids are reserved again")
        if session == 1 { self.reserved.formUnion(ids) }
    }

    /// The replica becomes the same store, with the same change sets. Then at times it leads, and the other follows.
    private func replay() throws {
        guard let replica = self.fixture.replica else { return }
        let store = self.fixture.store
        let records = try replica.catchUp()
        // A refused transaction has left no record and no change.
        guard !records.isEmpty else { return }
        let applied = records.flatMap(\.changes)
        guard applied.count == self.written.count else { throw self.fail("\(applied.count) revisions replayed") }
        for (own, written) in zip(applied, self.written) {
            if let difference = try own.difference(from: written, replica.store, store) {
                throw self.fail("revision \(own.revision) is replayed as \(difference)")
            }
        }
        self.written = []
        guard try replica.isEqual(to: store) else {
            let differences = try replica.store.differences(from: store)
            throw self.fail("the replica differs: \(differences), \(replica.store.remembered), \(store.remembered)")
        }
        if self.roles.oneIn(20) { try self.fixture.exchange() }
    }

    private func transact(
        _ size: Int,
        _ time: Int64,
        _ commit: ((ObjectGraph) throws -> Void) throws -> ChangeSet?
    ) throws {
        self.mutations = RandomTransaction.make(
            on: self.graph,
            size: size,
            time: time,
            reserved: self.reserved,
            &self.random
        )
        guard !self.mutations.isEmpty else { return }
        let (preconditions, refusal) = self.preconditions()
        let transaction = WriteTransaction(preconditions: preconditions, mutations: self.mutations)
        let expected: Result<NaiveTransaction, NaiveRefusal> =
            refusal.map { .failure($0) }
            ?? NaiveTransaction.run(transaction, on: self.graph, time: time, reserved: self.reserved)
        var runs: [Receipt.Run] = []
        do {
            let changes = try commit { graph in
                graph.sessionNumber = 1
                runs = try graph.perform(transaction)
                expectName(try graph.defaultName(of: transaction.mutations))
            }
            guard case .success(let naive) = expected else { throw self.fail("accepted, but expected \(expected)") }
            try self.take(naive, runs, changes)
        } catch StoreError.refused(let error) {
            try self.take(error, expected)
        }
    }

    /// Returns a precondition whose revision is recent enough for some objects and too old for others.
    private func preconditions() -> ([Precondition], NaiveRefusal?) {
        guard self.random.oneIn(8), let id = self.graph.objects.keys.sorted().randomElement(using: &self.random) else {
            return ([], nil)
        }
        if self.random.oneIn(10) {
            return ([Precondition(object: ObjectID(9_999_999), revision: Revision(1))], .code(.notFound))
        }
        let rows = self.state.tables[self.fixture.store.layout.index(of: self.graph.objects[id]!.entity)!]
        let changed = rows[id]!.revision.rawValue
        let revision = self.random.oneIn(3) && changed > 0 ? changed - 1 : changed + UInt64(self.random.below(2))
        let precondition = Precondition(object: id, revision: Revision(revision))
        return ([precondition], revision < changed ? .code(.conflict) : nil)
    }

    // MARK: Accepted

    private func take(_ naive: NaiveTransaction, _ runs: [Receipt.Run], _ changes: ChangeSet?) throws {
        self.accepted += 1
        let new = try self.renamed(naive, runs)
        let state = try StoredState(self.fixture.store)
        let placed = Set(naive.placed.map { new.ids[$0] ?? $0 })
        try self.check(changes, state, new.graph, placed)
        if let changes {
            self.usedCount += self.reserved.count - naive.reserved.count
            self.reserved = naive.reserved
            self.written.append(changes)
            let isAnew = self.mayBeAnew(placed)
            self.log.append(
                Entry(
                    revision: changes.revision,
                    before: self.graph,
                    after: new.graph,
                    isAnew: isAnew,
                    named: self.named(runs)
                )
            )
        }
        self.graph = new.graph
        self.state = state
        self.idsSeen.formUnion(new.graph.objects.keys)
    }

    /// Whether a batch may have put objects where they were, by new placements or pairs: these count as changes.
    private func mayBeAnew(_ placed: Set<ObjectID>) -> Bool {
        let isRelating = self.mutations.contains {
            switch $0 {
            case .relate, .unrelate, .setRelated: true
            default: false
            }
        }
        return self.mutations.count > 1 && (isRelating || !placed.isEmpty)
    }

    private func named(_ runs: [Receipt.Run]) -> Set<ObjectID> {
        let results = runs.flatMap(\.ids)
        return Set(
            self.mutations.flatMap(\.references).compactMap { reference in
                let number = Int(-reference.rawValue)
                return number < 0 ? ObjectID(reference.rawValue) : number <= results.count ? results[number - 1] : nil
            }
        )
    }

    /// Returns the naive graph with the ids that the store assigned.
    private func renamed(
        _ naive: NaiveTransaction,
        _ runs: [Receipt.Run]
    ) throws -> (graph: NaiveGraph, ids: [ObjectID: ObjectID]) {
        let given = runs.flatMap { run in run.ids.map { NaiveTransaction.Result(id: $0, isFound: run.isFound) } }
        let results = naive.results.compactMap { $0 }
        guard given.count == results.count else { throw self.fail("results \(given), not \(results)") }
        var ids: [ObjectID: ObjectID] = [:]
        for (given, expected) in zip(given, results) {
            guard given.isFound == expected.isFound else { throw self.fail("results \(given), not \(expected)") }
            if expected.isFound || ids[expected.id] != nil {
                guard given.id == ids[expected.id] ?? expected.id else {
                    throw self.fail("found \(given), not \(expected)")
                }
            } else {
                ids[expected.id] = given.id
                self.expect(!self.idsSeen.contains(given.id), "the id \(given.id) is used again")
            }
        }
        return (naive.graph.renamed(ids), ids)
    }

    /// Checks that the change set contains every difference and nothing else, and that the store holds the graph.
    private func check(
        _ changes: ChangeSet?,
        _ state: StoredState,
        _ graph: NaiveGraph,
        _ placed: Set<ObjectID>
    ) throws {
        let stored = state.graph
        guard stored == graph else {
            throw self.fail("store and graph differ: \(stored.differences(from: graph).joined(separator: "; "))")
        }
        guard let changes else {
            guard graph == self.graph else { throw self.fail("changed without a revision") }
            guard state == self.state else {
                throw self.fail("nothing changed except rows: \(state.differences(from: self.state))")
            }
            return
        }
        let next = (self.log.last?.revision ?? Revision(0)).next
        guard changes.revision == next else { throw self.fail("revision \(changes.revision), not \(next)") }
        self.noteCommitted(changes)
        let (applied, faults) = try self.state.applying(changes, of: self.fixture.store)
        guard faults.isEmpty else { throw self.fail("the change set: \(faults.joined(separator: "; "))") }
        guard applied == state else {
            throw self.fail("the change set lacks: \(applied.differences(from: state).joined(separator: "; "))")
        }
        if graph == self.graph {
            guard self.mayBeAnew(placed) else {
                throw self.fail("a revision for nothing")
            }
        }
        for (id, object) in graph.objects {
            guard let old = self.graph.objects[id], !placed.contains(id) else { continue }
            let index = self.fixture.store.layout.index(of: object.entity)!
            let isSame =
                old.values == object.values
                && graph.entity(object.entity).relationships.allSatisfy {
                    $0.isToMany || old.related[$0.number] == object.related[$0.number]
                }
            let isStamped = state.tables[index][id]!.revision == changes.revision
            guard isSame != isStamped else { throw self.fail("\(id): changed \(!isSame), stamped \(isStamped)") }
        }
    }

    // MARK: Refused

    private func take(_ error: NestError, _ expected: Result<NaiveTransaction, NaiveRefusal>) throws {
        self.refused[error.code, default: 0] += 1
        guard case .failure(let refusal) = expected else { throw self.fail("refused: \(error)") }
        // If a step makes a cycle and moves a root, the error may report either.
        let isEither = Set([error.code, refusal.code]).isSubset(of: [.cycle, .rootObject])
        // Missing values of an insert may be reported before its place is checked.
        let isLacking = self.mutations.count == 1 && error.faults.allSatisfy { $0.reason == .required }
        if isLacking, !error.faults.isEmpty, [.invalid, .notFound, .indexOutOfRange].contains(refusal.code) {
            return try self.expectUnchanged("a refused transaction")
        }
        guard isEither || error.code == refusal.code else { throw self.fail("refused with \(error), not \(refusal)") }
        if case .faults(let faults) = refusal {
            let reported = Set(
                error.faults.map { fault in
                    let isTree = fault.reason == .notUnique
                    return NaiveFault(
                        isTree ? self.graph.top(fault.entity) : fault.entity,
                        fault.property,
                        fault.reason
                    )
                }
            )
            guard reported == faults else { throw self.fail("faults \(reported), not \(faults): \(error)") }
            for fault in error.faults {
                if let object = fault.object, self.graph.objects[object] == nil {
                    throw self.fail("a fault names the object \(object), which does not exist: \(error)")
                }
            }
        }
        try self.expectUnchanged("a refused transaction")
    }

    func expectUnchanged(_ name: String) throws {
        let state = try StoredState(self.fixture.store)
        guard state == self.state else { throw self.fail("\(name) changed \(state.differences(from: self.state))") }
    }

    // MARK: Undo

    /// Reverts a revision; returns the error if that is refused. The graph is then read from the store.
    func revert(_ revision: Revision) throws -> Result<Entry?, NestError> {
        self.step += 1
        self.mutations = []
        let changes: ChangeSet?
        do {
            changes = try self.fixture.revert(revision)
        } catch StoreError.refused(let error) {
            try self.expectUnchanged("the refused undo of \(revision)")
            return .failure(error)
        }
        let before = self.graph
        let state = try StoredState(self.fixture.store)
        let graph = state.graph
        let faults = graph.faults.map { "\($0)" } + graph.inverseFaults
        guard faults.isEmpty else {
            throw self.fail("the undo of \(revision) leaves \(faults.joined(separator: "; "))")
        }
        if let changes {
            let (applied, faults) = try self.state.applying(changes, of: self.fixture.store)
            guard faults.isEmpty else {
                throw self.fail("the change set of an undo: \(faults.joined(separator: "; "))")
            }
            self.noteCommitted(changes)
            guard applied == state else {
                throw self.fail("the change set of an undo lacks: \(applied.differences(from: state))")
            }
        }
        self.state = state
        self.graph = graph
        try self.checkInvariants()
        guard let changes else { return .success(nil) }
        let isAnew = self.log.first { $0.revision == revision }?.isAnew ?? false
        let entry = Entry(revision: changes.revision, before: before, after: graph, isAnew: isAnew)
        self.log.append(entry)
        self.written.append(changes)
        try self.replay()
        return .success(entry)
    }

    // MARK: The store's own reading

    /// Bodies of objects are kept from one check to the next, as the engine keeps them.
    private func noteCommitted(_ changes: ChangeSet) {
        self.fixture.store.access { self.fixture.store.noteCommitted([changes]) }
    }

    func checkInvariants() throws {
        let broken = try self.invariants.broken(in: self.fixture.store, head: self.fixture.store.head)
        guard broken.isEmpty else { throw self.fail(broken.joined(separator: "; ")) }
        try self.checkReading()
    }

    /// Checks that the store's own functions read what the tables hold.
    private func checkReading() throws {
        let store = self.fixture.store
        try store.access {
            for (id, object) in self.graph.objects {
                guard let detail = try store.detail(id), let found = try store.object(id) else {
                    throw self.fail("\(id) is not found")
                }
                let entity = self.graph.entity(object.entity)
                let isSame =
                    detail.entity == object.entity && found.row.entity == object.entity
                    && detail.values.map(\.property) == entity.storedProperties
                    && detail.values.allSatisfy { self.graph.value(id, $0.property) == $0.value }
                    && detail.counts.map(\.property) == entity.relationships.filter(\.isToMany).map(\.number)
                    && detail.counts.allSatisfy { self.graph.related(id, $0.property).count == $0.count }
                guard isSame else { throw self.fail("the detail of \(id): \(detail)") }
                guard try store.body(id) == ObjectBody(detail) else { throw self.fail("the body of \(id)") }
                for toMany in found.layout.toMany where entity.relationship(toMany.relationship.number) != nil {
                    var ids: [ObjectID] = []
                    try store.forEach(toMany, of: id) { other, _ in ids.append(other) }
                    guard ids == self.graph.related(id, toMany.relationship.number) else {
                        throw self.fail("\(toMany.relationship.name) of \(id): \(ids)")
                    }
                }
            }
            for (layout, rows) in zip(store.layout.entities, self.state.tables) where layout.isJoin {
                for id in rows.keys where try store.object(id) != nil { throw self.fail("the pair \(id) is an object") }
            }
        }
    }
}

/// Every transaction can be named.
private func expectName(_ name: String) {
    #expect(!name.isEmpty)
}
