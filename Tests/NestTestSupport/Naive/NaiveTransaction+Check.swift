import NestModel

extension NaiveTransaction {
    /// The new target of a to-one relationship.
    struct Relation {
        var relationship: RelationshipDescription
        var target: ObjectID?
        var place: Place
    }

    /// The checked values and relations that a mutation sets.
    struct Wanted {
        var values: [PropertyNumber: AttributeValue] = [:]
        /// The relations in the order of the mutation, placements last.
        var relations: [Relation] = []
    }

    enum Purpose: Equatable {
        case insert
        case update(ObjectID)
        case findOrCreate

        var object: ObjectID? {
            if case .update(let id) = self { id } else { nil }
        }
    }

    /// Checks everything that a mutation sets. A single insert also reports missing required properties.
    func check(
        _ entity: EntityDescription,
        for purpose: Purpose,
        _ values: [PropertyAssignment],
        _ placements: [Placement]
    ) throws(NaiveRefusal) -> Wanted {
        var wanted = Wanted()
        var faults: Set<NaiveFault> = []
        var required: Set<NaiveFault> = []
        var missing: Set<NaiveFault> = []
        var seen: Set<PropertyNumber> = []
        for assignment in values {
            let number = assignment.property
            let isToOne = entity.relationship(number).map { !$0.isToMany } ?? false
            guard entity.attribute(number) != nil || isToOne else {
                faults.insert(NaiveFault(entity.number, number, .unknownProperty))
                continue
            }
            if !seen.insert(number).inserted { faults.insert(NaiveFault(entity.number, number, .setTwice)) }
            if let attribute = entity.attribute(number) {
                switch self.check(attribute, assignment.value) {
                case .kept(let value): wanted.values[number] = value
                case .refused(.required):
                    required.insert(NaiveFault(entity.number, number, .required))
                    wanted.values[number] = .null
                case .refused(let reason): faults.insert(NaiveFault(entity.number, number, reason))
                }
                continue
            }
            let relationship = entity.relationship(number)!
            var target: ObjectID?
            switch assignment.value {
            case .reference(let reference): target = try self.resolve(reference)
            case .value(.reference(let id)): target = id
            case .value(.null):
                if let root = entity.root, root.relationship == number, purpose != .findOrCreate,
                    root.object != purpose.object
                {
                    // Every object must be under the root: a later mutation cannot fix this fault.
                    faults.insert(NaiveFault(entity.number, number, .required))
                } else if !relationship.isOptional {
                    required.insert(NaiveFault(entity.number, number, .required))
                }
            case .value: faults.insert(NaiveFault(entity.number, number, .type))
            }
            if let target { self.checkTarget(target, relationship, entity, &faults, &missing) }
            wanted.relations.append(Relation(relationship: relationship, target: target, place: .last))
        }
        for placement in placements {
            let number = placement.relationship
            guard let relationship = entity.relationship(number), !relationship.isToMany,
                self.graph.inverse(relationship).isOrdered
            else {
                faults.insert(NaiveFault(entity.number, number, .unknownProperty))
                continue
            }
            if !seen.insert(number).inserted { faults.insert(NaiveFault(entity.number, number, .setTwice)) }
            let owner = try self.resolve(placement.owner)
            self.checkTarget(owner, relationship, entity, &faults, &missing)
            wanted.relations.append(Relation(relationship: relationship, target: owner, place: placement.place))
        }
        // A later mutation of the batch may set a missing value.
        if !self.isBatch, !faults.isEmpty {
            if purpose == .insert { required.formUnion(self.lacking(entity, seen)) }
            faults.formUnion(required)
        }
        // A missing object alone is NOT_FOUND; together with other faults it is one of the faults.
        if !missing.isEmpty, faults == missing { throw .code(.notFound) }
        if !faults.isEmpty { throw .faults(faults) }
        // The required values of a find-or-create are checked now, those of other mutations at the end.
        if !self.isBatch, !required.isEmpty, purpose == .findOrCreate { throw .faults(required) }
        return wanted
    }

    /// Returns the faults of required properties that a single insert does not set.
    private func lacking(_ entity: EntityDescription, _ seen: Set<PropertyNumber>) -> Set<NaiveFault> {
        let attributes = entity.attributes.filter { !$0.isOptional && $0.defaultValue == .null && !$0.defaultsToNow }
        let relationships = entity.relationships.filter {
            !$0.isToMany && !$0.isOptional && $0.number != entity.root?.relationship
        }
        let numbers = attributes.map(\.number) + relationships.map(\.number)
        return Set(numbers.filter { !seen.contains($0) }.map { NaiveFault(entity.number, $0, .required) })
    }

    private func check(_ attribute: AttributeDescription, _ value: MutationValue) -> NaiveValue {
        switch value {
        case .value(let value): NaiveValue(attribute, value)
        case .reference: .refused(.type)
        }
    }

    private func checkTarget(
        _ id: ObjectID,
        _ relationship: RelationshipDescription,
        _ entity: EntityDescription,
        _ faults: inout Set<NaiveFault>,
        _ missing: inout Set<NaiveFault>
    ) {
        guard let object = self.graph.objects[id] else {
            missing.insert(NaiveFault(entity.number, relationship.number, .destination))
            faults.formUnion(missing)
            return
        }
        if !self.graph.isKind(object.entity, of: relationship.destination) {
            faults.insert(NaiveFault(entity.number, relationship.number, .destination))
        }
    }
}
