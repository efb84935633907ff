import NestModel

/// Why a transaction has no effect: the server must refuse it.
struct PredictedRefusal: Error {}

/// Runs transactions as the server will, on what is known.
extension KnownObjects {
    /// Runs a transaction. Returns `false`, and does nothing, if the server must refuse it.
    mutating func run(_ transaction: UnconfirmedTransaction) -> Bool {
        var copy = self
        copy.time = transaction.time
        var results: [ObjectID?] = []
        do throws(PredictedRefusal) {
            for mutation in transaction.mutations { try copy.step(mutation, &results) }
            self = copy
            return true
        } catch {
            return false
        }
    }

    private mutating func step(_ mutation: Mutation, _ results: inout [ObjectID?]) throws(PredictedRefusal) {
        func known(_ reference: ObjectReference) -> ObjectID? {
            if reference.rawValue > 0 { return ObjectID(reference.rawValue) }
            let index = Int(-reference.rawValue) - 1
            return results.indices.contains(index) ? results[index] : nil
        }
        switch mutation {
        case .insertAs(let id, let number, let values, let placements):
            results.append(id)
            guard let entity = self.model.entity(number) else { throw PredictedRefusal() }
            try self.insert(id, entity, values, placements, known)
        case .insert, .findOrCreate:
            // Its id is not known, or whether it inserts.
            results.append(nil)
            self.opaqueSteps += 1
        case .update(let object, let values):
            guard let id = try self.found(object, known), let entity = self.entity(of: id) else { return self.lose() }
            try self.assign(id, entity, values, known)
        case .move(let object, let placement):
            guard let id = try self.found(object, known), let entity = self.entity(of: id) else { return self.lose() }
            try self.move(id, entity, placement, known)
        case .delete(let object):
            guard let id = try self.found(object, known) else { return self.lose() }
            try self.delete(id)
        case .relate(let owner, let property, let object, let place):
            guard let id = try self.found(owner, known), let target = try self.found(object, known),
                let relationship = self.toMany(property, of: id)
            else { return self.lose() }
            try self.relate(id, relationship, target, Self.place(place, known))
        case .unrelate(let owner, let property, let object):
            guard let id = try self.found(owner, known), let target = try self.found(object, known),
                let relationship = self.toMany(property, of: id)
            else { return self.lose() }
            self.unrelate(id, relationship, target)
        case .setRelated(let owner, let property, let objects):
            guard let id = try self.found(owner, known), let relationship = self.toMany(property, of: id) else {
                return self.lose()
            }
            var targets: [ObjectID] = []
            for object in objects {
                guard let target = try self.found(object, known) else { return self.lose() }
                targets.append(target)
            }
            try self.setRelated(id, relationship, targets)
        }
    }

    /// Counts a step on objects that are not known.
    private mutating func lose() { self.opaqueSteps += 1 }

    private func found(
        _ reference: ObjectReference,
        _ known: (ObjectReference) -> ObjectID?
    ) throws(PredictedRefusal) -> ObjectID? {
        guard let id = known(reference) else { return nil }
        if self.isGone(id) { throw PredictedRefusal() }
        return id
    }

    /// Returns a to-many relationship of an object. If nothing is known of the object, the number must mean the same in
    /// every entity.
    private func toMany(_ property: PropertyNumber, of id: ObjectID) -> RelationshipDescription? {
        if let entity = self.entity(of: id) {
            return entity.relationship(property).flatMap { $0.isToMany ? $0 : nil }
        }
        for shape in self.shown.shapes {
            if let shape, shape.request.source == FetchSource(object: id, relationship: property) {
                return shape.relationship
            }
        }
        let all = Set(self.model.entities.compactMap { $0.relationship(property) })
        return all.count == 1 && all.first?.isToMany == true ? all.first : nil
    }

    private static func place(_ place: Place, _ known: (ObjectReference) -> ObjectID?) -> SketchPlace {
        func sibling(_ reference: ObjectReference?) -> SketchPlace.Sibling {
            guard let reference else { return .none }
            return known(reference).map { .object($0) } ?? .unknown
        }
        return switch place {
        case .first: .first
        case .last: .last
        case .before(let reference): .beside(known(reference), isAfter: false)
        case .after(let reference): .beside(known(reference), isAfter: true)
        case .at(let index): .at(index)
        case .near(let left, let right): .near(left: sibling(left), right: sibling(right))
        }
    }

    // MARK: Values

    private mutating func insert(
        _ id: ObjectID,
        _ entity: EntityDescription,
        _ values: [PropertyAssignment],
        _ placements: [Placement],
        _ known: (ObjectReference) -> ObjectID?
    ) throws(PredictedRefusal) {
        let isShown = self.shown.contains(id)
        self.changes[id, default: Change()].entity = entity
        for attribute in entity.attributes {
            // A server that has the object already also knows the time.
            if attribute.defaultsToNow, isShown { continue }
            self.set(
                attribute.number,
                of: id,
                to: attribute.defaultsToNow ? .date(self.time) : attribute.kept(attribute.defaultValue)
            )
        }
        for relationship in entity.relationships where !relationship.isToMany && !isShown {
            self.set(relationship.number, of: id, to: .null)
        }
        let set = Set(values.map(\.property) + placements.map(\.relationship))
        try self.assign(id, entity, values, known)
        if let root = entity.root, !set.contains(root.relationship), let above = entity.relationship(root.relationship)
        {
            try self.assign(id, above, root.object, .last)
        }
        for placement in placements { try self.move(id, entity, placement, known) }
    }

    private mutating func assign(
        _ id: ObjectID,
        _ entity: EntityDescription,
        _ values: [PropertyAssignment],
        _ known: (ObjectReference) -> ObjectID?
    ) throws(PredictedRefusal) {
        for assignment in values {
            if let attribute = entity.attribute(assignment.property) {
                guard case .value(let value) = assignment.value else { throw PredictedRefusal() }
                self.set(attribute.number, of: id, to: attribute.kept(value))
                continue
            }
            guard let relationship = entity.relationship(assignment.property), !relationship.isToMany else {
                throw PredictedRefusal()
            }
            switch assignment.value {
            case .value(.null): try self.assign(id, relationship, nil, .last)
            case .value(.reference(let target)): try self.assign(id, relationship, target, .last)
            case .value: throw PredictedRefusal()
            case .reference(let reference):
                guard let target = known(reference) else {
                    self.opaqueSteps += 1
                    self.set(relationship.number, of: id, to: nil)
                    continue
                }
                try self.assign(id, relationship, target, .last)
            }
        }
    }

    private mutating func move(
        _ id: ObjectID,
        _ entity: EntityDescription,
        _ placement: Placement,
        _ known: (ObjectReference) -> ObjectID?
    ) throws(PredictedRefusal) {
        guard let relationship = entity.relationship(placement.relationship), !relationship.isToMany else {
            throw PredictedRefusal()
        }
        guard let owner = known(placement.owner) else {
            self.opaqueSteps += 1
            self.set(relationship.number, of: id, to: nil)
            return
        }
        try self.assign(id, relationship, owner, Self.place(placement.place, known))
    }

    // MARK: Relationships

    /// Sets a to-one relationship and its other side.
    mutating func assign(
        _ id: ObjectID,
        _ relationship: RelationshipDescription,
        _ target: ObjectID?,
        _ place: SketchPlace
    ) throws(PredictedRefusal) {
        guard let inverse = self.model.inverse(of: relationship) else { throw PredictedRefusal() }
        if let target, self.isGone(target) { throw PredictedRefusal() }
        if inverse.isToMany {
            if let target { try self.checkCycle(id, relationship, target) }
            self.leave(inverse, id, unlessOneOf: target.map { [$0] } ?? [])
            self.set(relationship.number, of: id, to: target.map { .reference($0) } ?? .null)
            guard let target else { return }
            let source = FetchSource(object: target, relationship: inverse.number)
            if !self.place(id, in: source, inverse, place) { throw PredictedRefusal() }
            return
        }
        // One to one: an object that had either of them loses it. An object may have itself.
        for other in self.all {
            if other != target, self.value(inverse.number, of: other) == .reference(id),
                self.isOf(other, relationship.destination)
            {
                self.set(inverse.number, of: other, to: .null)
            }
            if let target, other != id, self.value(relationship.number, of: other) == .reference(target),
                self.isOf(other, inverse.destination)
            {
                self.set(relationship.number, of: other, to: .null)
            }
        }
        self.set(relationship.number, of: id, to: target.map { .reference($0) } ?? .null)
        guard let target else { return }
        if self.entity(of: target) == nil {
            // No view shows the other object.
            self.changes[target, default: Change()].values[inverse.number] = .some(.reference(id))
            self.note(inverse.number, of: relationship.destination)
        } else {
            self.set(inverse.number, of: target, to: .reference(id))
        }
    }

    private func isOf(_ id: ObjectID, _ kind: EntityNumber) -> Bool {
        self.entity(of: id).map { self.model.isKind($0.number, of: kind) } ?? false
    }

    /// Takes an object out of the lists of a relationship, except of those owners.
    private mutating func leave(
        _ relationship: RelationshipDescription,
        _ id: ObjectID,
        unlessOneOf owners: Set<ObjectID>
    ) {
        let (shown, model) = (self.shown, self.model)
        self.lists.remove(id) { list in
            guard case .list(let source)? = shown.shapes[list.view]?.order else { return false }
            return source.relationship == relationship.number && !owners.contains(list.owner)
                && shown.shapes[list.view]?.listRelationship(model) == relationship
        }
    }

    /// Refuses to put an object below itself.
    private func checkCycle(
        _ id: ObjectID,
        _ relationship: RelationshipDescription,
        _ target: ObjectID
    ) throws(PredictedRefusal) {
        guard let inverse = self.model.inverse(of: relationship), !inverse.isHiddenInverse,
            self.model.top(of: relationship.destination) == self.model.top(of: inverse.destination)
        else { return }
        var above: ObjectID? = target
        var seen: Set<ObjectID> = []
        while let current = above, seen.insert(current).inserted {
            if current == id { throw PredictedRefusal() }
            above = self.value(relationship.number, of: current)?.referenceValue
        }
    }

    private mutating func relate(
        _ owner: ObjectID,
        _ relationship: RelationshipDescription,
        _ object: ObjectID,
        _ place: SketchPlace
    ) throws(PredictedRefusal) {
        guard let inverse = self.model.inverse(of: relationship) else { throw PredictedRefusal() }
        guard inverse.isToMany else {
            return try self.assign(object, inverse, owner, place)
        }
        let source = FetchSource(object: owner, relationship: relationship.number)
        let back = FetchSource(object: object, relationship: inverse.number)
        let was = self.isMember(object, of: source, relationship)
        self.setPair(source, back, true, relationship, inverse)
        if !self.place(object, in: source, relationship, place) { throw PredictedRefusal() }
        guard was != true, back != source || owner != object else { return }
        // On the other side the owner comes last, if it was not there.
        for list in self.lists(of: back) {
            if was == nil {
                self.lists.doubt(owner, in: list)
            } else {
                _ = self.lists.place(owner, in: list, .last) { _ in nil }
            }
        }
    }

    private mutating func unrelate(
        _ owner: ObjectID,
        _ relationship: RelationshipDescription,
        _ object: ObjectID
    ) {
        guard let inverse = self.model.inverse(of: relationship) else { return }
        guard inverse.isToMany else {
            switch self.value(inverse.number, of: object) {
            case .reference(owner)?:
                self.leave(relationship, object, unlessOneOf: [])
                self.set(inverse.number, of: object, to: .null)
            case nil:
                // Unrelated if it was there.
                self.opaqueSteps += 1
            default: break
            }
            return
        }
        let source = FetchSource(object: owner, relationship: relationship.number)
        let back = FetchSource(object: object, relationship: inverse.number)
        self.setPair(source, back, false, relationship, inverse)
        let (theirs, ours) = (Set(self.lists(of: source)), Set(self.lists(of: back)))
        self.lists.remove(object) { theirs.contains($0) }
        self.lists.remove(owner) { ours.contains($0) }
    }

    mutating func setPair(
        _ source: FetchSource,
        _ back: FetchSource,
        _ isMember: Bool,
        _ relationship: RelationshipDescription,
        _ inverse: RelationshipDescription
    ) {
        self.pairs[source, default: [:]][back.object] = isMember
        self.pairs[back, default: [:]][source.object] = isMember
        self.note(relationship.number, of: inverse.destination)
        self.note(inverse.number, of: relationship.destination)
    }

    private mutating func setRelated(
        _ owner: ObjectID,
        _ relationship: RelationshipDescription,
        _ objects: [ObjectID]
    ) throws(PredictedRefusal) {
        guard let inverse = self.model.inverse(of: relationship) else { throw PredictedRefusal() }
        let source = FetchSource(object: owner, relationship: relationship.number)
        let kept = Set(objects)
        guard kept.count == objects.count else { throw PredictedRefusal() }
        if inverse.isToMany {
            let paired = Set(self.pairs[source, default: [:]].keys)
            for object in paired.union(self.all).sorted() where !kept.contains(object) {
                guard self.isMember(object, of: source, relationship) != false,
                    paired.contains(object) || self.isOf(object, relationship.destination)
                else { continue }
                self.unrelate(owner, relationship, object)
            }
            self.leave(inverse, owner, unlessOneOf: kept)
            for object in objects { try self.relate(owner, relationship, object, .last) }
            // Members that no view shows are gone.
            self.exact.insert(source)
            self.note(relationship.number, of: inverse.destination)
            self.note(inverse.number, of: relationship.destination)
        } else {
            for object in self.objects(referringTo: owner, by: inverse, of: relationship.destination)
            where !kept.contains(object) {
                self.unrelate(owner, relationship, object)
            }
            for object in objects { try self.assign(object, inverse, owner, .last) }
            self.note(inverse.number, of: relationship.destination)
        }
        guard relationship.isOrdered else { return }
        self.doubtOutlines(of: source, relationship)
        // The lists that views show are known whole.
        for list in self.lists(of: source) { self.lists.replace(list, with: objects) }
    }

    /// Doubts the outlines that may show objects of a source which are not known.
    private mutating func doubtOutlines(of source: FetchSource, _ relationship: RelationshipDescription) {
        for (view, shape) in self.shown.shapes.enumerated()
        where shape?.request.outline != nil && shape?.relationship == relationship {
            let sketch = self.lists[ListID(view: view, owner: source.object)]
            // No list: it is folded, elsewhere, or new and without objects.
            let isKnown = sketch.map { $0.startsAtFirst && $0.endsAtLast } ?? self.isFresh(source.object)
            if !isKnown { self.doubtfulOutlines.insert(view) }
        }
    }
}
