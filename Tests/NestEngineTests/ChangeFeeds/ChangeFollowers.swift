import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

/// Several clients that follow changes beside a simulation, and what the journal says they should be told.
struct ChangeFollowers {
    private var random: SeededRandom
    let pageBytes: Int
    private(set) var all: [ChangeFollower] = []
    private var nextConnection: UInt64 = 1 << 32
    private var journal = NaiveChanges()
    private(set) var steps = 0

    init(seed: UInt64, isSmall: Bool) {
        self.random = SeededRandom(seed: seed ^ 0xf0110)
        self.pageBytes = isSmall ? 1 + self.random.below(600) : Limits.changePageBytes
    }

    private mutating func newConnection() -> ConnectionID {
        self.nextConnection += 1
        return ConnectionID(self.nextConnection)
    }

    /// Something happens to one of them; those that do not wait take their pages.
    mutating func step(_ model: ManagedObjectModel) -> [EngineInput] {
        self.steps += 1
        let taking = self.all.filter { !$0.isBlocked && $0.owesDrain && self.random.below(3) > 0 }
        var inputs = taking.map { $0.drain() }
        if self.journal.beginning != nil, self.all.count < 4, self.random.oneIn(3) {
            // The first follows everything from the beginning, and has the mirror; others some of it, from then on or before.
            let entity = model.entities.randomElement(using: &self.random)!.number
            let isFirst = self.all.isEmpty
            let follower = ChangeFollower(
                session: UInt64(self.all.count),
                entities: isFirst || self.random.oneIn(3) ? [] : [entity],
                since: isFirst ? self.journal.beginning : nil
            )
            self.all.append(follower)
            return inputs + follower.connect(as: self.newConnection())
        }
        // Inside a change set is where leaving is worth most.
        let inside = self.all.filter { $0.isInside && !$0.isBlocked }
        if let follower = inside.randomElement(using: &self.random), self.random.oneIn(2) {
            inputs.append(.disconnected(follower.connection))
            return inputs + follower.connect(as: self.newConnection())
        }
        guard let follower = self.all.randomElement(using: &self.random) else { return inputs }
        switch self.random.below(8) {
        case 0: if !follower.isBlocked, !taking.contains(where: { $0 === follower }) { inputs.append(follower.block()) }
        case 1, 2: if follower.isBlocked { inputs.append(follower.drain()) }
        case 3:
            inputs.append(.disconnected(follower.connection))
            inputs += follower.connect(as: self.newConnection())
        default: break
        }
        return inputs
    }

    mutating func reconnectAll() -> [EngineInput] {
        var inputs: [EngineInput] = []
        for follower in self.all { inputs += follower.connect(as: self.newConnection()) }
        return inputs
    }

    func drainAll() -> [EngineInput] {
        self.all.filter { !$0.isUpToDate }.map { $0.drain() }
    }

    var areAllUpToDate: Bool { self.all.allSatisfy(\.isUpToDate) }

    func take(_ effect: EngineEffect, _ what: String) throws {
        for follower in self.all { try follower.take(effect, what) }
    }

    /// Nobody has a gap or an overlap, whoever is up to date has everything, and the mirror is right.
    mutating func check(_ store: Store, _ naive: NaiveResults, _ what: String) throws {
        try self.journal.read(store)
        for follower in self.all {
            #expect(follower.ended == nil, "\(what): ended")
            guard follower.isUpToDate else { continue }
            let told = follower.objects.filter { $0.key > self.journal.checked(follower) }
            for revision in self.journal.revisions where revision > self.journal.checked(follower) {
                try self.check(follower, revision, told[revision] ?? [:], naive, what)
            }
            #expect(told.keys.allSatisfy { $0 <= store.head }, "\(what)")
            self.journal.note(follower, checked: store.head)
            if follower === self.all[0] { follower.checkMirror(naive, what) }
        }
    }

    private func check(
        _ follower: ChangeFollower,
        _ revision: Revision,
        _ told: [ObjectID: ChangedObject],
        _ naive: NaiveResults,
        _ what: String
    ) throws {
        let expected = self.journal.changes(revision, of: follower.entities, store: naive)
        var told = told
        for (id, object) in told where object.kind == .updated {
            guard naive.rows[id] == nil || self.journal.hasReturned(id, since: revision) else { continue }
            // It was gone when its page was read: of what kind it was may not be known.
            if let known = expected[id] { told[id]!.entity = known.entity } else { told[id] = nil }
        }
        for (id, known) in expected where known.kind == .updated {
            // It was not there when its page was read, and an undo has brought it back since.
            guard let object = told[id], naive.isKind(known.entity, of: object.entity) else { continue }
            told[id]!.entity = known.entity
        }
        #expect(told == expected, "\(what): revision \(revision)")
    }
}

/// What the journal says that each revision touches, put together the obvious way.
struct NaiveChanges {
    private(set) var revisions: [Revision] = []
    private var touched: [Revision: [ObjectID: ChangedObject]] = [:]
    private var entities: [ObjectID: EntityNumber] = [:]
    private var checkedTo: [ObjectIdentifier: Revision] = [:]
    private(set) var beginning: ResumePoint?

    mutating func read(_ store: Store) throws {
        if self.beginning == nil {
            self.beginning = ResumePoint(historyID: store.historyID, revision: store.oldestBase)
            self.revisions = []
        }
        var next = (self.revisions.last ?? self.beginning!.revision).next
        while next <= store.head {
            let revision = next
            next = next.next
            self.revisions.append(revision)
            self.touched[revision] = [:]
            try store.access {
                let entry = try #require(try store.pastTransaction(revision))
                var pairs: [(ObjectID, PropertyNumber)] = []
                var changes: [ObjectChange] = []
                try entry.forEach { changes.append($0) }
                for change in changes {
                    let layout = try #require(store.layout[change.entity])
                    if layout.isJoin {
                        pairs += self.sides(change, layout, store.layout)
                    } else {
                        self.note(change, layout, revision)
                    }
                }
                for (owner, relationship) in pairs { self.note(owner, relationship, revision) }
            }
        }
    }

    private mutating func note(_ change: ObjectChange, _ layout: EntityLayout, _ revision: Revision) {
        var object = ChangedObject(
            kind: ChangedObject.Kind(rawValue: change.kind.rawValue)!,
            entity: change.entity,
            id: change.id
        )
        self.entities[change.id] = change.entity
        if object.kind == .updated {
            let placed = change.placings.map { layout.properties[layout.placedSlots[$0.place]] }
            object.properties = Set(change.values.map { layout.properties[$0.slot] } + placed).sorted()
        }
        self.touched[revision]![change.id] = object
    }

    private mutating func note(_ owner: ObjectID, _ relationship: PropertyNumber, _ revision: Revision) {
        let entity = self.entities[owner] ?? EntityNumber(0)
        var object = self.touched[revision]![owner] ?? ChangedObject(kind: .updated, entity: entity, id: owner)
        if object.kind == .updated {
            object.properties = Set(object.properties).union([relationship]).sorted()
        }
        self.touched[revision]![owner] = object
    }

    private func sides(
        _ change: ObjectChange,
        _ join: EntityLayout,
        _ model: ModelLayout
    ) -> [(ObjectID, PropertyNumber)] {
        var owners = change.values.flatMap { value in
            [value.before, value.after].compactMap(\.referenceValue).map { (value.slot, $0) }
        }
        owners += change.placings.flatMap { placing in
            [placing.before, placing.after].compactMap { $0?.owner }.map { (join.placedSlots[placing.place], $0) }
        }
        return owners.flatMap { slot, owner in
            model.entities.flatMap(\.manyToMany).filter { $0.join == join.number && $0.ownerSlot == slot }
                .map { (owner, $0.relationship.number) }
        }
    }

    /// Those of some entities and what is below them; of all when none is named.
    func changes(_ revision: Revision, of wanted: [EntityNumber], store: NaiveResults) -> [ObjectID: ChangedObject] {
        self.touched[revision]!.filter { _, object in
            wanted.isEmpty || wanted.contains { store.isKind(object.entity, of: $0) }
        }
    }

    /// An undo has brought an object back after a revision.
    func hasReturned(_ id: ObjectID, since revision: Revision) -> Bool {
        self.touched.contains { $0.key > revision && $0.value[id]?.kind == .inserted }
    }

    // MARK: How far each follower has been checked

    func checked(_ follower: ChangeFollower) -> Revision {
        self.checkedTo[ObjectIdentifier(follower)] ?? follower.start
    }

    mutating func note(_ follower: ChangeFollower, checked: Revision) {
        self.checkedTo[ObjectIdentifier(follower)] = checked
    }
}
