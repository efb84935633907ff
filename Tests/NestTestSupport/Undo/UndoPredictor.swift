import NestModel

/// Undoes one transaction on a naive graph, row by row according to the protocol's table of conflicts.
package struct UndoPredictor {
    let record: UndoRecord
    let options: UndoOptions
    let found: NaiveGraph
    let foundMarks: PlacementMarks
    /// Returns the last owner of a deleted object, from the journal.
    let lastOwner: (ObjectID, PropertyNumber) -> ObjectID?
    /// Returns which sessions have changed the owner of an object since the transaction.
    let changers: (ObjectID, PropertyNumber) -> Changers
    var result: UndoPrediction
    var restored: Set<ObjectID> = []
    /// The objects that the transaction deleted and that exist again.
    var present: Set<ObjectID> = []
    /// The to-one relationships to restore, with their old placement marks. They are linked from left to right.
    var returns: [(id: ObjectID, relationship: RelationshipDescription, owner: ObjectID, mark: UInt64?)] = []
    /// The stamp of a new placement.
    static let newStamp = UInt64.max

    /// The sessions that have changed a slot.
    package enum Changers {
        /// Only the session itself.
        case own
        case others
        /// Another session has deleted or restored the object: the contract leaves open what counts.
        case unclear
    }

    private init(
        _ record: UndoRecord,
        _ options: UndoOptions,
        _ graph: NaiveGraph,
        _ marks: PlacementMarks,
        changers: @escaping (ObjectID, PropertyNumber) -> Changers,
        lastOwner: @escaping (ObjectID, PropertyNumber) -> ObjectID?
    ) {
        self.changers = changers
        self.record = record
        self.options = options
        self.found = graph
        self.foundMarks = marks
        self.lastOwner = lastOwner
        self.result = UndoPrediction(graph: graph, marks: marks)
    }

    package static func predict(
        _ record: UndoRecord,
        _ options: UndoOptions,
        on graph: NaiveGraph,
        _ marks: PlacementMarks,
        leaving left: Set<UndoSlot>,
        rehomed: Set<UndoSlot>,
        changers: @escaping (ObjectID, PropertyNumber) -> Changers,
        lastOwner: @escaping (ObjectID, PropertyNumber) -> ObjectID?
    ) -> UndoPrediction {
        var predictor = UndoPredictor(record, options, graph, marks, changers: changers, lastOwner: lastOwner)
        predictor.result.left = left
        predictor.result.rehomedSlots = rehomed
        if record.isUnknown { predictor.open("the changes of the transaction are not known") }
        if record.isVague { predictor.open("the transaction may have placed objects at their old positions") }
        predictor.restoreDeletedObjects()
        predictor.revertUpdates()
        predictor.linkRestoredOwners()
        predictor.revertPairs()
        predictor.deleteInsertedObjects()
        predictor.validate()
        return predictor.result
    }

    // MARK: Results

    mutating func open(_ text: String) { self.result.openings.append(text) }

    /// Adds a conflict of the table. A strict undo is refused because of it.
    mutating func conflict(
        _ reasons: Set<UndoConflict.Reason>,
        _ objects: Set<ObjectID>,
        _ properties: Set<PropertyNumber>? = nil,
        isRequired: Bool = true
    ) {
        self.result.conflicts.append(
            ConflictLaw(reasons: reasons, objects: objects, properties: properties, isRequired: isRequired)
        )
        guard self.options.policy == .strict else { return }
        if isRequired { self.refuse(.undoConflict) } else { self.result.possibleRefusals.insert(.undoConflict) }
    }

    /// Reports that a forced undo overwrites a value of another session.
    mutating func overwrite(
        _ objects: Set<ObjectID>,
        _ properties: Set<PropertyNumber>? = nil,
        isRequired: Bool = true
    ) {
        guard self.isForced else { return }
        let reasons: Set<UndoConflict.Reason> = [.overwritten, .rehomed, .ownerGone]
        self.result.conflicts.append(
            ConflictLaw(reasons: reasons, objects: objects, properties: properties, isRequired: isRequired)
        )
    }

    /// Reports that a forced undo deletes an object of another session.
    mutating func reportLoss(_ id: ObjectID, isRequired: Bool = true) {
        self.result.conflicts.append(
            ConflictLaw(reasons: [.lost], objects: [id], properties: nil, isRequired: isRequired)
        )
    }

    mutating func refuse(_ code: ErrorCode) { self.result.refusals.insert(code) }

    var graph: NaiveGraph {
        get { self.result.graph }
        set { self.result.graph = newValue }
    }

    var isForced: Bool { self.options.policy == .force }

    // MARK: Deletions

    /// Restores every deleted object with its id and values, and then its relationships.
    private mutating func restoreDeletedObjects() {
        for id in self.record.deleted {
            if self.found.lives(id) {
                self.present.insert(id)
                self.conflict([.present], [id])
                continue
            }
            var object = self.record.before.objects[id]!
            for property in object.related.keys { object.related[property] = [] }
            self.graph.objects[id] = object
            self.restored.insert(id)
        }
        for id in self.restored.sorted() {
            for relationship in self.graph.entity(of: id).relationships where !relationship.isToMany {
                guard let other = self.record.before.related(id, relationship.number).first else { continue }
                if self.graph.isPartner(relationship) {
                    self.restorePartner(id, relationship, other)
                } else {
                    self.restoreOwner(id, relationship, other)
                }
            }
        }
    }

    // MARK: Owners

    mutating func restoreOwner(_ id: ObjectID, _ relationship: RelationshipDescription, _ owner: ObjectID) {
        let mark = self.record.marksBefore.stamp(id, relationship.number)
        if self.graph.lives(owner) { return self.returns.append((id, relationship, owner, mark)) }
        let isRestored = self.restored.contains(id)
        guard self.options.rehomes else {
            if isRestored { return self.refuse(.ownerGone) }
            return self.conflict([.ownerGone], [id], [relationship.number])
        }
        if let home = self.nearestLiving(above: owner, relationship) {
            self.returns.append((id, relationship, home, Self.newStamp))
            self.result.conflicts.append(
                ConflictLaw(reasons: [.rehomed], objects: [id], properties: [relationship.number], isRequired: true)
            )
            // Rehoming was requested, but the result differs from the old state.
            if self.options.policy == .strict { self.result.possibleRefusals.insert(.undoConflict) }
            let inverse = self.graph.inverse(relationship).number
            self.result.rehomed.insert(PlacementMarks.Side(home, inverse, id))
            self.result.rehomedSlots.insert(UndoSlot(id: id, property: relationship.number))
        } else if isRestored, !relationship.isOptional {
            self.refuse(.ownerGone)
        } else {
            self.conflict([.ownerGone], [id], [relationship.number])
            if !isRestored { self.open("\(id) had the owner \(owner), which has no living ancestor") }
        }
    }

    /// Whether the session itself has given an object the owner that it has now, because the old one is gone.
    mutating func isRehomed(_ id: ObjectID, _ relationship: RelationshipDescription) -> Bool {
        let inverse = self.found.inverse(relationship)
        guard self.found.isOwned(relationship),
            self.found.top(inverse.destination) == self.found.top(relationship.destination)
        else { return false }
        if self.result.rehomedSlots.contains(UndoSlot(id: id, property: relationship.number)) { return true }
        switch self.changers(id, relationship.number) {
        case .own: return true
        case .others: return false
        case .unclear:
            self.open("another session has deleted or restored \(id)")
            self.result.possibleRefusals.insert(.undoConflict)
            return false
        }
    }

    private func nearestLiving(above gone: ObjectID, _ relationship: RelationshipDescription) -> ObjectID? {
        let inverse = self.graph.inverse(relationship)
        guard self.graph.top(inverse.destination) == self.graph.top(relationship.destination) else { return nil }
        var seen: Set<ObjectID> = []
        var above = self.lastOwner(gone, relationship.number)
        while let current = above, seen.insert(current).inserted {
            if self.graph.lives(current) { return current }
            above = self.lastOwner(current, relationship.number)
        }
        return nil
    }

    /// Links the restored objects from left to right: after the old left neighbour, else before the old right
    /// neighbour, else near the old index.
    mutating func linkRestoredOwners() {
        func index(_ entry: (id: ObjectID, relationship: RelationshipDescription, owner: ObjectID, mark: UInt64?))
            -> Int
        {
            self.record.before.related(entry.owner, self.graph.inverse(entry.relationship).number)
                .firstIndex(of: entry.id) ?? Int.max
        }
        for entry in self.returns.sorted(by: { (index($0), $0.id) < (index($1), $1.id) }) {
            let list = self.graph.inverse(entry.relationship)
            let isThere = self.graph.related(entry.id, entry.relationship.number) == [entry.owner]
            if isThere, !list.isOrdered { continue }
            self.put(entry.id, in: list, of: entry.owner)
            if list.isOrdered {
                self.result.marks.places[entry.id, default: [:]][entry.relationship.number] = entry.mark
            }
        }
    }

    mutating func put(_ id: ObjectID, in list: RelationshipDescription, of owner: ObjectID) {
        guard list.isOrdered else { return self.graph.link(owner, list, id) }
        self.result.placed.insert(PlacementMarks.Side(owner, list.number, id))
        let others = self.graph.related(owner, list.number).filter { $0 != id }
        let old = self.record.before.related(owner, list.number)
        var index = others.count
        if let position = old.firstIndex(of: id) {
            if position > 0, let left = others.firstIndex(of: old[position - 1]) {
                index = left + 1
            } else if position + 1 < old.count, let right = others.firstIndex(of: old[position + 1]) {
                index = right
            } else {
                index = min(position, others.count)
            }
        }
        self.graph.link(owner, list, id, at: index)
    }

    mutating func release(_ id: ObjectID, _ relationship: RelationshipDescription) {
        for other in self.graph.related(id, relationship.number) { self.graph.unlink(id, relationship, other) }
        self.result.marks.places[id]?[relationship.number] = nil
    }

    // MARK: One to one

    /// Restores the old partner of an object.
    mutating func restorePartner(_ id: ObjectID, _ relationship: RelationshipDescription, _ partner: ObjectID) {
        let inverse = self.graph.inverse(relationship)
        let sites = (objects: Set([id, partner]), properties: Set([relationship.number, inverse.number]))
        guard self.graph.lives(partner) else {
            if !self.graph.related(id, relationship.number).isEmpty {
                self.open("\(id) had the deleted partner \(partner) and has another one")
            }
            return self.conflict([.ownerGone, .edited], sites.objects, sites.properties)
        }
        if self.present.contains(partner) || self.present.contains(id) {
            self.open("one of two partners exists again")
        }
        let now = self.found.related(partner, inverse.number).first
        let left = self.record.after.related(partner, inverse.number).first
        if now == id { return }
        let isLeft = self.result.left.contains(UndoSlot(id: partner, property: inverse.number))
        if now == left, !isLeft {
            self.release(id, relationship)
            self.graph.link(id, relationship, partner)
        } else if self.isForced {
            self.release(id, relationship)
            self.graph.link(id, relationship, partner)
        } else {
            self.release(id, relationship)
            self.conflict([.edited], sites.objects.union(now.map { [$0] } ?? []), sites.properties)
        }
    }

    // MARK: The end

    private mutating func validate() {
        if self.graph.hasCycle { self.refuse(.cycle) }
        let faults = self.graph.faults
        if !faults.isEmpty { self.refuse(NaiveRefusal.faults(faults).code) }
    }
}
