import NestModel

extension NaiveTransaction {
    mutating func step(_ mutation: Mutation) throws(NaiveRefusal) {
        switch mutation {
        case .insert(let number, let values, let placements):
            let entity = try self.known(number)
            guard !entity.isAbstract else { throw .code(.invalid) }
            let wanted = try self.check(entity, for: .insert, values, placements)
            self.results.append(Result(id: try self.insert(entity, wanted), isFound: false))
        case .insertAs(let id, let number, let values, let placements):
            let entity = try self.known(number)
            guard !entity.isAbstract else { throw .code(.invalid) }
            let wanted = try self.check(entity, for: .insert, values, placements)
            self.results.append(Result(id: try self.insert(entity, wanted, as: id), isFound: false))
        case .update(let object, let values):
            let id = try self.resolve(object)
            try self.require(id)
            let entity = self.graph.entity(of: id)
            let wanted = try self.check(entity, for: .update(id), values, [])
            for (attribute, value) in wanted.values { self.graph.objects[id]!.values[attribute] = value }
            for relation in wanted.relations { try self.relate(id, relation) }
        case .move(let object, let placement):
            let id = try self.resolve(object)
            try self.require(id)
            let entity = self.graph.entity(of: id)
            let wanted = try self.check(entity, for: .update(id), [], [placement])
            for relation in wanted.relations { try self.relate(id, relation) }
        case .delete(let object):
            let id = try self.resolve(object)
            try self.require(id)
            switch self.graph.delete(id) {
            case .deleted: break
            case .denied: throw .code(.deleteDenied)
            case .root: throw .code(.rootObject)
            }
        case .relate(let owner, let property, let object, let place):
            try self.relate(try self.resolve(owner), property, try self.resolve(object), place)
        case .unrelate(let owner, let property, let object):
            try self.unrelate(try self.resolve(owner), property, try self.resolve(object))
        case .setRelated(let owner, let property, let references):
            var objects: [ObjectID] = []
            for reference in references { objects.append(try self.resolve(reference)) }
            try self.setRelated(try self.resolve(owner), property, objects)
        case .findOrCreate(let number, let match, let values, let placements):
            try self.findOrCreate(try self.known(number), match, values, placements)
        }
    }

    private func known(_ number: EntityNumber) throws(NaiveRefusal) -> EntityDescription {
        guard let entity = self.graph.model.entity(number) else { throw .code(.unknownEntity) }
        return entity
    }

    // MARK: Inserting

    private mutating func insert(
        _ entity: EntityDescription,
        _ wanted: Wanted,
        as reserved: ObjectID? = nil
    ) throws(NaiveRefusal) -> ObjectID {
        var wanted = wanted
        if let root = entity.root {
            let above = wanted.relations.first { $0.relationship.number == root.relationship }
            if above == nil {
                let relationship = entity.relationship(root.relationship)!
                wanted.relations.append(.init(relationship: relationship, target: root.object, place: .last))
            } else if above!.target == nil {
                throw .faults([NaiveFault(entity.number, root.relationship, .required)])
            }
        }
        if let reserved, self.reserved.remove(reserved) == nil { throw .code(.invalid) }
        // Placements are checked before the object is inserted.
        for relation in wanted.relations {
            guard let target = relation.target else { continue }
            _ = try self.index(relation.place, among: target, self.graph.inverse(relation.relationship), moving: nil)
        }
        let id = reserved ?? self.newID()
        self.graph.objects[id] = self.graph.blank(entity, time: self.time)
        for (attribute, value) in wanted.values { self.graph.objects[id]!.values[attribute] = value }
        for relation in wanted.relations { try self.relate(id, relation) }
        return id
    }

    private mutating func findOrCreate(
        _ entity: EntityDescription,
        _ match: [PropertyAssignment],
        _ values: [PropertyAssignment],
        _ placements: [Placement]
    ) throws(NaiveRefusal) {
        guard !match.isEmpty else { throw .code(.invalid) }
        let all = try self.check(entity, for: .findOrCreate, match + values, placements)
        let wanted = try self.check(entity, for: .findOrCreate, match, [])
        let found = self.graph.ids(of: entity.number).first { id in
            wanted.values.allSatisfy { self.graph.value(id, $0.key) == $0.value }
                && wanted.relations.allSatisfy {
                    self.graph.related(id, $0.relationship.number) == ($0.target.map { [$0] } ?? [])
                }
        }
        if let found { return self.results.append(Result(id: found, isFound: true)) }
        guard !entity.isAbstract else { throw .code(.invalid) }
        self.results.append(Result(id: try self.insert(entity, all), isFound: false))
    }

    // MARK: Relating

    /// Sets the to-one side of a relationship.
    private mutating func relate(_ id: ObjectID, _ relation: Relation) throws(NaiveRefusal) {
        let relationship = relation.relationship
        guard let target = relation.target else {
            if self.isRoot(id, relationship) { throw .code(.rootObject) }
            for old in self.graph.related(id, relationship.number) { self.graph.unlink(id, relationship, old) }
            return
        }
        let inverse = self.graph.inverse(relationship)
        guard inverse.isToMany else { return self.graph.link(id, relationship, target) }
        try self.adopt(target, inverse, id, relation.place)
    }

    /// Puts an object into the to-many side of a one-to-many relationship.
    private mutating func adopt(
        _ owner: ObjectID,
        _ relationship: RelationshipDescription,
        _ object: ObjectID,
        _ place: Place
    ) throws(NaiveRefusal) {
        let toOne = self.graph.inverse(relationship)
        if self.isRoot(object, toOne) { throw .code(.rootObject) }
        let isInOneTree =
            self.graph.top(toOne.destination) == self.graph.top(relationship.destination)
            && !relationship.isHiddenInverse
        if isInOneTree, self.graph.related(object, toOne.number) != [owner] {
            var above: ObjectID? = owner
            while let current = above {
                if current == object { throw .code(.cycle) }
                above = self.graph.related(current, toOne.number).first
            }
        }
        let index = try self.index(place, among: owner, relationship, moving: object)
        self.graph.link(owner, relationship, object, at: index)
        if relationship.isOrdered { self.placed.insert(object) }
    }

    /// Whether the object is the root of this relationship's hierarchy.
    private func isRoot(_ id: ObjectID, _ relationship: RelationshipDescription) -> Bool {
        let root = self.graph.entity(of: id).root
        return root?.object == id && root?.relationship == relationship.number
    }

    /// Returns the index of a placement in the list without the moving object; `nil`: the end.
    private func index(
        _ place: Place,
        among owner: ObjectID,
        _ relationship: RelationshipDescription,
        moving: ObjectID?
    ) throws(NaiveRefusal) -> Int? {
        guard relationship.isOrdered else { return nil }
        let list = self.graph.related(owner, relationship.number).filter { $0 != moving }
        func sibling(_ reference: ObjectReference) throws(NaiveRefusal) -> Int {
            let id = try self.resolve(reference)
            try self.require(id)
            guard id != moving, let index = list.firstIndex(of: id) else { throw .code(.invalid) }
            return index
        }
        switch place {
        case .last: return list.count
        case .first: return 0
        case .before(let reference): return try sibling(reference)
        case .after(let reference): return try sibling(reference) + 1
        case .near(let left, let right):
            let others = try [left, right].map { (reference) throws(NaiveRefusal) -> Int? in
                guard let reference else { return nil }
                let id = try self.resolve(reference)
                return list.firstIndex(of: id)
            }
            return others[0].map { $0 + 1 } ?? others[1] ?? list.count
        case .at(let index):
            guard index >= 0, index <= list.count else { throw .code(.indexOutOfRange) }
            return index
        }
    }

    /// Returns the to-many relationship, after checking that the objects may be in it.
    private func toMany(_ owner: ObjectID, _ property: PropertyNumber, _ objects: [ObjectID])
        throws(NaiveRefusal) -> RelationshipDescription
    {
        try self.require(owner)
        let entity = self.graph.entity(of: owner)
        guard let relationship = entity.relationship(property), relationship.isToMany else {
            throw .code(.unknownProperty)
        }
        guard Set(objects).count == objects.count else { throw .code(.invalid) }
        for object in objects { try self.require(object) }
        let strangers = objects.filter {
            !self.graph.isKind(self.graph.objects[$0]!.entity, of: relationship.destination)
        }
        if !strangers.isEmpty { throw .faults([NaiveFault(entity.number, property, .destination)]) }
        return relationship
    }

    private mutating func relate(_ owner: ObjectID, _ property: PropertyNumber, _ object: ObjectID, _ place: Place)
        throws(NaiveRefusal)
    {
        let relationship = try self.toMany(owner, property, [object])
        guard relationship.isOrdered || place == .last else { throw .code(.invalid) }
        if !self.graph.inverse(relationship).isToMany {
            return try self.adopt(owner, relationship, object, place)
        }
        let index = try self.index(place, among: owner, relationship, moving: object)
        self.graph.link(owner, relationship, object, at: index)
    }

    private mutating func unrelate(_ owner: ObjectID, _ property: PropertyNumber, _ object: ObjectID)
        throws(NaiveRefusal)
    {
        let relationship = try self.toMany(owner, property, [object])
        guard self.graph.related(owner, property).contains(object) else { return }
        try self.release([object], from: relationship)
        self.graph.unlink(owner, relationship, object)
    }

    /// Throws if objects are removed from an owner that they require.
    private func release(_ objects: [ObjectID], from relationship: RelationshipDescription) throws(NaiveRefusal) {
        let inverse = self.graph.inverse(relationship)
        guard !inverse.isToMany else { return }
        var faults: Set<NaiveFault> = []
        for object in objects {
            let entity = self.graph.entity(of: object)
            if let root = entity.root, root.relationship == inverse.number {
                faults.insert(NaiveFault(entity.number, inverse.number, .required))
            }
        }
        if !faults.isEmpty { throw .faults(faults) }
    }

    private mutating func setRelated(_ owner: ObjectID, _ property: PropertyNumber, _ objects: [ObjectID])
        throws(NaiveRefusal)
    {
        let relationship = try self.toMany(owner, property, objects)
        let gone = self.graph.related(owner, property).filter { !objects.contains($0) }
        try self.release(gone, from: relationship)
        for object in gone { self.graph.unlink(owner, relationship, object) }
        let isOneToMany = !self.graph.inverse(relationship).isToMany
        for (index, object) in objects.enumerated() {
            // Objects that are already related keep their position on the other side.
            if isOneToMany {
                try self.adopt(owner, relationship, object, relationship.isOrdered ? .at(index) : .last)
            } else {
                self.graph.link(owner, relationship, object, at: relationship.isOrdered ? index : nil)
            }
        }
    }
}
