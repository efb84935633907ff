import NestModel

/// Deletes, with their delete rules. The rules may reach objects that no view shows, and through these objects that
/// views do show: what is then left open becomes doubtful.
extension KnownObjects {
    mutating func delete(_ id: ObjectID) throws(PredictedRefusal) {
        if self.shown.roots.contains(id) { throw PredictedRefusal() }
        guard self.entity(of: id) != nil else {
            // Its rules are not known.
            self.opaqueSteps += 1
            self.changes[id, default: Change()].isGone = true
            return
        }
        var reach = DeleteReach(model: self.model)
        var deleted: Set<ObjectID> = [id]
        var queue = [id]
        while let object = queue.popLast() {
            guard let entity = self.entity(of: object) else { continue }
            for relationship in entity.relationships where relationship.deleteRule == .cascade {
                for other in self.targets(of: object, relationship, &reach) where deleted.insert(other).inserted {
                    queue.append(other)
                }
            }
        }
        if !deleted.isDisjoint(with: self.shown.roots) { throw PredictedRefusal() }
        let safe = self.ancestors(of: id, reach)
        for object in deleted { self.remove(object, deleted) }
        if !reach.isEmpty { self.doubt(reach, safe) }
    }

    /// Returns the known objects that a relationship leads to, and notes that it may lead to others.
    private func targets(
        of id: ObjectID,
        _ relationship: RelationshipDescription,
        _ reach: inout DeleteReach
    ) -> [ObjectID] {
        guard let inverse = self.model.inverse(of: relationship) else { return [] }
        if !relationship.isToMany {
            switch self.value(relationship.number, of: id) {
            case .reference(let target)?:
                if self.entity(of: target) == nil { reach.add(relationship) }
                return [target]
            case .null?: return []
            default:
                // The other side of one to one may be known.
                let found =
                    inverse.isToMany
                    ? []
                    : self.objects(
                        referringTo: id,
                        by: inverse,
                        of: relationship.destination
                    )
                if found.isEmpty { reach.add(relationship) }
                return found
            }
        }
        if !self.isFresh(id) { reach.add(relationship) }
        guard inverse.isToMany else {
            return self.objects(referringTo: id, by: inverse, of: relationship.destination)
        }
        let source = FetchSource(object: id, relationship: relationship.number)
        return self.all.filter { object in
            self.isMember(object, of: source, relationship) == true
                && (self.entity(of: object).map { self.model.isKind($0.number, of: relationship.destination) } ?? false)
        }
    }

    /// Removes an object. Those that refer to it refer to nothing.
    private mutating func remove(_ id: ObjectID, _ deleted: Set<ObjectID>) {
        if let entity = self.entity(of: id) {
            for relationship in entity.relationships {
                guard let inverse = self.model.inverse(of: relationship) else { continue }
                self.note(relationship.number, of: entity.number)
                self.note(inverse.number, of: relationship.destination)
                guard !inverse.isToMany else { continue }
                for other in self.objects(referringTo: id, by: inverse, of: relationship.destination)
                where !deleted.contains(other) {
                    self.leaveList(of: id, relationship, other)
                    self.set(inverse.number, of: other, to: .null)
                }
            }
        }
        self.changes[id, default: Change()].isGone = true
        self.lists.remove(id)
    }

    private mutating func leaveList(of owner: ObjectID, _ relationship: RelationshipDescription, _ id: ObjectID) {
        let lists = Set(self.lists(of: FetchSource(object: owner, relationship: relationship.number)))
        self.lists.remove(id) { lists.contains($0) }
    }

    // MARK: What may be deleted

    /// Returns the objects above the deleted one in its tree: nothing below it can be above it. Empty if a delete may
    /// reach them in another way.
    private func ancestors(of id: ObjectID, _ reach: DeleteReach) -> Set<ObjectID> {
        var safe = self.shown.roots
        guard let entity = self.entity(of: id) else { return safe }
        for relationship in entity.relationships where !relationship.isToMany {
            guard let inverse = self.model.inverse(of: relationship), inverse.isToMany, !inverse.isHiddenInverse,
                inverse.deleteRule == .cascade,
                self.model.top(of: relationship.destination) == self.model.top(of: inverse.destination),
                reach.isOnlyBy(inverse, to: relationship.destination)
            else { continue }
            var above = self.value(relationship.number, of: id)?.referenceValue
            while let current = above, safe.insert(current).inserted {
                above = self.value(relationship.number, of: current)?.referenceValue
            }
            for (view, outline) in self.shown.outlines.enumerated() {
                guard let outline, self.shown.shapes[view]?.relationship == inverse, outline.contains(id) else {
                    continue
                }
                // All rows are below the object of the source, and none is above an object that the window begins
                // below.
                safe.formUnion(outline.spine.map(\.owner))
            }
        }
        return safe
    }

    /// Marks what may have changed because of objects that no view shows.
    private mutating func doubt(_ reach: DeleteReach, _ safe: Set<ObjectID>) {
        var isGrowing = true
        while isGrowing {
            isGrowing = false
            for id in self.all where !safe.contains(id) {
                guard let entity = self.entity(of: id) else { continue }
                if reach.isUnseen(to: entity.number) { isGrowing = self.mayBeGone(id) || isGrowing }
                for relationship in entity.relationships where !relationship.isToMany {
                    let isReached = reach.mayReach(relationship.destination) && self.mayLose(id, relationship, safe)
                    // It may be the deleted object that a value which no view has refers to.
                    let isFollowed = reach.follows(relationship) && self.value(relationship.number, of: id) == nil
                    guard isReached || isFollowed else { continue }
                    if self.model.inverse(of: relationship)?.deleteRule == .cascade {
                        isGrowing = self.mayBeGone(id) || isGrowing
                    } else if self.value(relationship.number, of: id) != nil {
                        self.set(relationship.number, of: id, to: nil)
                        isGrowing = true
                    }
                }
            }
        }
        for shape in self.shown.shapes {
            // No row need refer to the object whose relationship a view shows.
            guard let source = shape?.request.source?.object, let relationship = shape?.relationship,
                let inverse = self.model.inverse(of: relationship), !safe.contains(source), !self.isSeen(source),
                reach.mayReach(inverse.destination)
            else { continue }
            _ = self.mayBeGone(source)
        }
        for relationship in reach.relationships {
            self.note(relationship.number, of: relationship.destination)
            guard let inverse = self.model.inverse(of: relationship) else { continue }
            self.note(inverse.number, of: relationship.destination)
        }
        self.changedProperties.formUnion(reach.properties)
    }

    private mutating func mayBeGone(_ id: ObjectID) -> Bool {
        guard self.changes[id]?.mayBeGone != true else { return false }
        self.changes[id, default: Change()].mayBeGone = true
        return true
    }

    /// Whether the object that a relationship refers to may have been deleted.
    private func mayLose(_ id: ObjectID, _ relationship: RelationshipDescription, _ safe: Set<ObjectID>) -> Bool {
        switch self.value(relationship.number, of: id) {
        case nil: true
        case .reference(let target)?:
            // What refers to a deleted object of a known entity has lost it already.
            !safe.contains(target) && (self.changes[target].map { $0.isGone || $0.mayBeGone } ?? !self.isSeen(target))
        default: false
        }
    }

    /// Whether everything that can delete the object is followed.
    private func isSeen(_ id: ObjectID) -> Bool { self.shown.contains(id) || self.isFresh(id) }
}

/// The entities whose objects a delete may reach through objects that no view shows.
struct DeleteReach {
    private let model: ManagedObjectModel
    private(set) var relationships: Set<RelationshipDescription> = []
    private var entities: Set<EntityNumber> = []

    init(model: ManagedObjectModel) {
        self.model = model
    }

    var isEmpty: Bool { self.entities.isEmpty }

    /// Adds what a cascade along a relationship may reach, and all that follows.
    mutating func add(_ relationship: RelationshipDescription) {
        guard self.relationships.insert(relationship).inserted else { return }
        for kind in self.model.kinds(of: relationship.destination) + self.model.lineage(of: relationship.destination)
        where self.entities.insert(kind.number).inserted {
            for next in kind.relationships where next.deleteRule == .cascade { self.add(next) }
        }
    }

    func mayReach(_ entity: EntityNumber) -> Bool { self.entities.contains { self.model.areRelated($0, entity) } }

    /// Whether it reaches objects by the other side of a to-one relationship of theirs.
    func follows(_ relationship: RelationshipDescription) -> Bool {
        self.model.inverse(of: relationship).map { self.relationships.contains($0) } ?? false
    }

    /// Whether it reaches objects by relationships that cascade and that no to-one value of these objects shows.
    func isUnseen(to entity: EntityNumber) -> Bool {
        self.relationships.contains { relationship in
            self.model.inverse(of: relationship)?.isToMany == true
                && self.model.areRelated(relationship.destination, entity)
        }
    }

    /// Whether it reaches an entity only along one relationship.
    func isOnlyBy(_ relationship: RelationshipDescription, to entity: EntityNumber) -> Bool {
        self.relationships.allSatisfy { $0 == relationship || !self.model.areRelated($0.destination, entity) }
    }

    /// All properties that refer to objects which it may reach, and those of such objects.
    var properties: Set<KnownObjects.Property> {
        var properties: Set<KnownObjects.Property> = []
        for entity in self.model.entities {
            for relationship in entity.relationships
            where self.mayReach(entity.number) || self.mayReach(relationship.destination) {
                properties.insert(.init(top: self.model.top(of: entity.number), number: relationship.number))
            }
        }
        return properties
    }
}
