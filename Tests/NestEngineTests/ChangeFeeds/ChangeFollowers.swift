import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

/// Several clients that follow the changes of a simulation, and the changes that the journal says they should receive.
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

    /// Returns inputs for one random event of a follower, and drains of followers that wait for their next page.
    mutating func step(_ model: ManagedObjectModel) -> [EngineInput] {
        self.steps += 1
        let taking = self.all.filter { !$0.isBlocked && $0.awaitsDrain && self.random.below(3) > 0 }
        var inputs = taking.map { $0.drain() }
        if self.journal.beginning != nil, self.all.count < 4, self.random.oneIn(3) {
            // The first follower follows everything from the beginning and has the mirror. Others may follow one
            // entity, and begin now.
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
        // Disconnecting inside a change set is the most interesting case.
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

    /// Checks that no follower that is up to date has a gap or an overlap, and that the mirror is correct.
    mutating func check(_ store: Store, _ naive: NaiveResults, _ what: String) throws {
        try self.journal.read(store)
        for follower in self.all {
            #expect(follower.ended == nil, "\(what): ended")
            guard follower.isUpToDate else { continue }
            let received = follower.objects.filter { $0.key > self.journal.checked(follower) }
            for revision in self.journal.revisions where revision > self.journal.checked(follower) {
                try self.check(follower, revision, received[revision] ?? [:], naive, what)
            }
            #expect(received.keys.allSatisfy { $0 <= store.head }, "\(what)")
            self.journal.note(follower, checked: store.head)
            if follower === self.all[0] { follower.checkMirror(naive, what) }
        }
    }

    private func check(
        _ follower: ChangeFollower,
        _ revision: Revision,
        _ received: [ObjectID: ChangedObject],
        _ naive: NaiveResults,
        _ what: String
    ) throws {
        let expected = self.journal.changes(revision, of: follower.entities, store: naive)
        var received = received
        for (id, object) in received where object.kind == .updated {
            guard naive.rows[id] == nil || self.journal.hasReturned(id, since: revision) else { continue }
            // If the object was deleted when its page was read, its entity may be unknown.
            if let known = expected[id] { received[id]!.entity = known.entity } else { received[id] = nil }
        }
        for (id, known) in expected where known.kind == .updated {
            // The object did not exist when its page was read, and an undo has restored it since.
            guard let object = received[id], naive.isKind(known.entity, of: object.entity) else { continue }
            received[id]!.entity = known.entity
        }
        #expect(received == expected, "\(what): wrong changes of revision \(revision)")
    }
}

/// The changes of each revision, collected naively from the journal.
struct NaiveChanges {
    private(set) var revisions: [Revision] = []
    private var changed: [Revision: [ObjectID: ChangedObject]] = [:]
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
            self.changed[revision] = [:]
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
        self.changed[revision]![change.id] = object
    }

    private mutating func note(_ owner: ObjectID, _ relationship: PropertyNumber, _ revision: Revision) {
        let entity = self.entities[owner] ?? EntityNumber(0)
        var object = self.changed[revision]![owner] ?? ChangedObject(kind: .updated, entity: entity, id: owner)
        if object.kind == .updated {
            object.properties = Set(object.properties).union([relationship]).sorted()
        }
        self.changed[revision]![owner] = object
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

    /// Returns the changes of objects of the wanted entities and their subentities; of all entities if none is wanted.
    func changes(_ revision: Revision, of wanted: [EntityNumber], store: NaiveResults) -> [ObjectID: ChangedObject] {
        self.changed[revision]!.filter { _, object in
            wanted.isEmpty || wanted.contains { store.isKind(object.entity, of: $0) }
        }
    }

    /// Whether an undo has restored an object after a revision.
    func hasReturned(_ id: ObjectID, since revision: Revision) -> Bool {
        self.changed.contains { $0.key > revision && $0.value[id]?.kind == .inserted }
    }

    // MARK: How far each follower has been checked

    func checked(_ follower: ChangeFollower) -> Revision {
        self.checkedTo[ObjectIdentifier(follower)] ?? follower.start
    }

    mutating func note(_ follower: ChangeFollower, checked: Revision) {
        self.checkedTo[ObjectIdentifier(follower)] = checked
    }
}
