import NestModel
import NestSchema

/// Limits the writes of a confined client to objects in the token scope; no write may move an object out.
///
/// All objects that a transaction names are checked before it begins. That is enough: no allowed step moves a named
/// object out of the sub-tree, and inserted objects are placed inside it.
extension Confinement {
    package func check(_ transaction: WriteTransaction) throws(StoreError) {
        for precondition in transaction.preconditions { try self.require(precondition.object) }
        for mutation in transaction.mutations { try self.check(mutation) }
    }

    private func check(_ mutation: Mutation) throws(StoreError) {
        switch mutation {
        case .insert(let entity, let values, let placements), .insertAs(_, let entity, let values, let placements):
            try self.checkInsert(entity)
            let isAssigned = try self.check(values, isRoot: false)
            for placement in placements { try self.check(placement) }
            guard isAssigned || !placements.isEmpty else {
                throw .refused(.notPermitted, "a confined token must insert objects below its root: specify an owner")
            }
        case .update(let reference, let values):
            let isRoot = try self.require(reference)
            let moves = try self.check(values, isRoot: isRoot)
            if moves { try self.requireMovable(reference) }
        case .move(let reference, let placement):
            try self.require(reference)
            try self.requireMovable(reference)
            try self.check(placement)
        case .delete(let reference):
            try self.require(reference)
            try self.requireMovable(reference)
            try self.checkDelete()
        case .relate(let owner, let property, let reference, let place):
            try self.require(owner)
            guard property == self.down else { throw Self.leadsOut(self.name(property)) }
            try self.require(reference)
            try self.requireMovable(reference)
            try self.check(place)
        case .unrelate, .setRelated:
            throw .refused(
                .notPermitted,
                "a confined token cannot remove objects from a relationship: move them instead"
            )
        case .findOrCreate:
            throw .refused(.notPermitted, "a confined token cannot use find-or-create, which searches all objects")
        }
    }

    package func check(_ request: SubtreeImport) throws(StoreError) {
        try self.checkInsert(request.entity)
        try self.check(request.placement)
        for property in request.properties where self.layout.slot(of: property) != nil && self.isRelationship(property)
        {
            throw Self.leadsOut(self.name(property))
        }
    }

    /// Requires an object in the scope. Returns whether it is the root.
    @discardableResult
    private func require(_ reference: ObjectReference) throws(StoreError) -> Bool {
        // Objects that the transaction itself inserts are placed in the scope.
        guard reference.rawValue > 0 else { return false }
        let id = ObjectID(reference.rawValue)
        try self.require(id)
        return id == self.key.root
    }

    private func requireMovable(_ reference: ObjectReference) throws(StoreError) {
        guard reference == .object(self.key.root) else { return }
        throw .refused(
            .rootObject,
            "the root of the token's sub-tree can be neither moved nor deleted",
            object: self.key.root
        )
    }

    /// Checks the values that a step sets. Returns whether they place the object under an owner.
    private func check(_ values: [PropertyAssignment], isRoot: Bool) throws(StoreError) -> Bool {
        var isPlaced = false
        for assignment in values {
            guard let slot = self.layout.slot(of: assignment.property) else { continue }
            if assignment.property == self.up {
                switch assignment.value {
                case .reference(let owner): try self.require(owner)
                case .value(.reference(let owner)): try self.require(owner)
                case .value: throw Self.leadsOut("\(self.name(self.up)) without an object")
                }
                isPlaced = true
            } else if self.isRelationship(assignment.property) {
                throw Self.leadsOut(self.name(assignment.property))
            } else if self.revealsOthers(slot, isRoot: isRoot) {
                throw .refused(
                    .notPermitted,
                    "\(self.layout.propertyName(assignment.property) ?? "the value") is unique among all "
                        + "objects: a refusal would reveal objects outside the token's scope"
                )
            }
        }
        return isPlaced
    }

    private func check(_ placement: Placement) throws(StoreError) {
        guard placement.relationship == self.up else { throw Self.leadsOut(self.name(placement.relationship)) }
        try self.require(placement.owner)
        try self.check(placement.place)
    }

    private func check(_ place: Place) throws(StoreError) {
        switch place {
        case .before(let reference), .after(let reference): try self.require(reference)
        // All members of a list that the token may change are in its scope.
        case .first, .last, .at, .near: break
        }
    }

    // MARK: Requirements for the model

    /// Whether a refusal for uniqueness would reveal objects out of scope. A constraint that includes the owner
    /// compares objects below one owner: all of them are in the scope, unless the object is the root itself.
    private func revealsOthers(_ slot: Int, isRoot: Bool) -> Bool {
        self.layout.uniquenesses.contains { $0.slots.contains(slot) && (isRoot || !$0.slots.contains(self.key.slot)) }
    }

    func checkInsert(_ entity: EntityNumber) throws(StoreError) {
        guard let kind = self.layout.kinds.first(where: { $0.number == entity }) else {
            throw .refused(.notPermitted, "these objects are not part of the sub-tree that the token is confined to")
        }
        guard
            !self.layout.uniquenesses.contains(where: {
                $0.entities.contains(entity) && !$0.slots.contains(self.key.slot)
            })
        else {
            throw .refused(
                .notPermitted,
                "a \(kind.noun) has values that are unique among all objects: a refusal would reveal objects "
                    + "outside the token's scope"
            )
        }
    }

    /// Refuses deletions in a model in which they may change objects out of scope. They do not if the deleted object
    /// itself holds every other relationship.
    func checkDelete() throws(StoreError) {
        for kind in self.layout.kinds {
            for relationship in kind.entity.relationships
            where relationship.number != self.up && relationship.number != self.down {
                let isHeld =
                    !relationship.isToMany && relationship.deleteRule == .nullify
                    && self.layout.slot(of: relationship.number).map { self.layout.partnerSlots[$0] < 0 } ?? false
                guard isHeld else {
                    throw .refused(
                        .notPermitted,
                        "the deletion would change objects outside the token's scope, to which "
                            + "\(self.name(relationship.number)) refers"
                    )
                }
            }
        }
    }
}
