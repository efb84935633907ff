import NestModel

/// Takes one transaction back on a naive graph, by the table of conflicts of the protocol, row by row.
package struct UndoPredictor {
    let record: UndoRecord
    let options: UndoOptions
    let found: NaiveGraph
    let foundMarks: PlacementMarks
    /// Under whom an object that is gone was, as the journal knows it.
    let lastOwner: (ObjectID, PropertyNumber) -> ObjectID?
    var result: UndoPrediction
    var restored: Set<ObjectID> = []
    /// Deleted by the transaction, and there again.
    var present: Set<ObjectID> = []
    /// To-one relationships that lead to an owner again, with the placement they had; linked from left to right.
    var returns: [(id: ObjectID, relationship: RelationshipDescription, owner: ObjectID, mark: UInt64?)] = []
    /// Stands for a placement that nothing had before.
    static let newStamp = UInt64.max

    private init(
        _ record: UndoRecord,
        _ options: UndoOptions,
        _ graph: NaiveGraph,
        _ marks: PlacementMarks,
        lastOwner: @escaping (ObjectID, PropertyNumber) -> ObjectID?
    ) {
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
        leaving left: Set<UndoSlot> = [],
        lastOwner: @escaping (ObjectID, PropertyNumber) -> ObjectID?
    ) -> UndoPrediction {
        var predictor = UndoPredictor(record, options, graph, marks, lastOwner: lastOwner)
        predictor.result.left = left
        if record.isUnknown { predictor.open("what the transaction did is not known") }
        if record.isVague { predictor.open("the transaction may have placed what stood there") }
        predictor.bringBack()
        predictor.changeBack()
        predictor.linkReturns()
        predictor.pairBack()
        predictor.takeAway()
        predictor.judge()
        return predictor.result
    }

    // MARK: What comes of it

    mutating func open(_ text: String) { self.result.openings.append(text) }

    /// Something stands in the way, as the table says: strict refuses for it.
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

    /// A forced undo takes another's value.
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

    /// A forced undo deletes another's object.
    mutating func lose(_ id: ObjectID, isRequired: Bool = true) {
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

    // MARK: What it deleted

    /// Every object comes back with its id and values; relationships follow.
    private mutating func bringBack() {
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
                    self.partnerBack(id, relationship, other)
                } else {
                    self.ownerBack(id, relationship, other)
                }
            }
        }
    }

    // MARK: Owners

    mutating func ownerBack(_ id: ObjectID, _ relationship: RelationshipDescription, _ owner: ObjectID) {
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
            // Asked for, and yet not as it was.
            if self.options.policy == .strict { self.result.possibleRefusals.insert(.undoConflict) }
            let inverse = self.graph.inverse(relationship).number
            self.result.rehomed.insert(PlacementMarks.Side(home, inverse, id))
        } else if isRestored, !relationship.isOptional {
            self.refuse(.ownerGone)
        } else {
            self.conflict([.ownerGone], [id], [relationship.number])
            if !isRestored { self.open("\(id) came from under \(owner), above whom nobody lives") }
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

    /// From left to right: after the left neighbour of then, else before the right one, else about where it was.
    mutating func linkReturns() {
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

    /// The object becomes the partner again of one that it had before.
    mutating func partnerBack(_ id: ObjectID, _ relationship: RelationshipDescription, _ partner: ObjectID) {
        let inverse = self.graph.inverse(relationship)
        let sites = (objects: Set([id, partner]), properties: Set([relationship.number, inverse.number]))
        guard self.graph.lives(partner) else {
            if !self.graph.related(id, relationship.number).isEmpty {
                self.open("\(id) had \(partner), who is gone, and has another")
            }
            return self.conflict([.ownerGone, .edited], sites.objects, sites.properties)
        }
        if self.present.contains(partner) || self.present.contains(id) {
            self.open("one of two partners is there again")
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

    private mutating func judge() {
        if self.graph.hasCycle { self.refuse(.cycle) }
        let faults = self.graph.faults
        if !faults.isEmpty { self.refuse(NaiveRefusal.faults(faults).code) }
    }
}
