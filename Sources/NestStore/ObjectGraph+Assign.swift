import NestModel

extension ObjectGraph {
    /// What a step sets, as values by slot and places by place. Every fault is collected, so that a refusal names all that
    /// is wrong.
    struct Assignments {
        var values: [(slot: Int, value: AttributeValue)] = []
        var placements: [(place: Int, owner: ObjectID, at: Place)] = []
        fileprivate var assigned = SlotSet()
        fileprivate var faults: [ValidationFault] = []
    }

    /// `object`: the one that is changed; `nil` for one to be inserted.
    func assignments(
        _ layout: EntityLayout,
        _ kind: EntityLayout.Kind,
        object: ObjectID?,
        values: [PropertyAssignment],
        placements: [Placement] = []
    ) throws -> Assignments {
        let context = AssignmentContext(layout: layout, kind: kind, object: object, isBatch: self.isBatch)
        var result = Assignments()
        for assignment in values {
            guard let slot = context.slot(assignment.property, &result) else { continue }
            switch layout.slots[slot] {
            case .attribute(let attribute):
                if let value = context.value(attribute, assignment.value, &result) {
                    result.values.append((slot, value))
                }
            case .toOne(let relationship, let place):
                guard let target = try self.target(relationship, assignment.value, context, &result) else { continue }
                if let place, let owner = target.referenceValue {
                    result.placements.append((place, owner, .last))
                } else {
                    result.values.append((slot, target))
                }
            }
        }
        for placement in placements {
            guard let slot = context.slot(placement.relationship, &result) else { continue }
            guard case .toOne(let relationship, let place?) = layout.slots[slot] else {
                context.fault(&result, placement.relationship, .unknownProperty, "has no order to be placed in")
                continue
            }
            let owner = try self.resolve(placement.owner)
            if try self.isObject(owner, of: relationship.destination) {
                result.placements.append((place, owner, placement.place))
            } else {
                try self.refuseTarget(owner, relationship, context, &result)
            }
        }
        guard result.faults.isEmpty else { throw Self.refusal(result.faults) }
        return result
    }

    /// `.null` or the id of an existing object of the right entity; `nil` when that is not what was given.
    private func target(
        _ relationship: RelationshipDescription,
        _ assigned: MutationValue,
        _ context: AssignmentContext,
        _ result: inout Assignments
    ) throws -> AttributeValue? {
        let target: ObjectID
        switch assigned {
        case .value(.null):
            // A later step may mend it.
            if !relationship.isOptional, !self.isBatch {
                context.fault(&result, relationship.number, .required, "is required")
            }
            return .null
        case .value(.reference(let id)):
            target = id
        case .reference(let reference):
            target = try self.resolve(reference)
        case .value(let value):
            context.fault(&result, relationship.number, .type, "is a relationship, not \(value.typeName)")
            return nil
        }
        guard try self.isObject(target, of: relationship.destination) else {
            try self.refuseTarget(target, relationship, context, &result)
            return nil
        }
        return .reference(target)
    }

    private func refuseTarget(
        _ id: ObjectID,
        _ relationship: RelationshipDescription,
        _ context: AssignmentContext,
        _ result: inout Assignments
    ) throws {
        // A missing destination alone is the answer "not found", which clients tell from a wrong value.
        guard let found = try self.find(id) else { throw Self.notFound(id) }
        let entity = found.table.layout.kind(found.row.entity).entity.name
        let wanted = self.layout.model.entity(relationship.destination)?.name ?? ""
        context.fault(
            &result,
            relationship.number,
            .destination,
            "leads to \(wanted), but the object \(id) is of entity \(entity)"
        )
    }

    /// Whether an object is there and of an entity or one below it.
    func isObject(_ id: ObjectID, of entity: EntityNumber) throws -> Bool {
        let table = try self.table(entity)
        if entity == table.layout.number { return try table.exists(id) }
        guard let own = try table.entity(of: id) else { return false }
        return self.layout.model.isKind(own, of: entity)
    }
}

/// Whose properties are set.
private struct AssignmentContext {
    let layout: EntityLayout
    let kind: EntityLayout.Kind
    let object: ObjectID?
    let isBatch: Bool

    func fault(
        _ result: inout ObjectGraph.Assignments,
        _ property: PropertyNumber,
        _ reason: ValidationFault.Reason,
        _ text: String
    ) {
        let name = self.kind.entity.propertyName(property) ?? "property number \(property.rawValue)"
        result.faults.append(
            ValidationFault(
                entity: self.kind.entity.number,
                property: property,
                object: self.object,
                reason: reason,
                message: "\(self.kind.entity.name).\(name) \(text)"
            )
        )
    }

    /// The slot of a property that this step sets for the first time.
    func slot(_ property: PropertyNumber, _ result: inout ObjectGraph.Assignments) -> Int? {
        guard let slot = self.layout.slot(of: property), self.kind.slots.contains(slot) else {
            if self.kind.entity.relationship(property) != nil {
                self.fault(
                    &result,
                    property,
                    .unknownProperty,
                    "is to-many: relate objects to it, or set its other side"
                )
            } else {
                let text = "\(self.kind.entity.name) has no property number \(property.rawValue)"
                result.faults.append(
                    ValidationFault(
                        entity: self.kind.entity.number,
                        property: property,
                        object: self.object,
                        reason: .unknownProperty,
                        message: text
                    )
                )
            }
            return nil
        }
        if !result.assigned.insert(slot) { self.fault(&result, property, .setTwice, "is set twice") }
        return slot
    }

    func value(
        _ attribute: AttributeDescription,
        _ assigned: MutationValue,
        _ result: inout ObjectGraph.Assignments
    ) -> AttributeValue? {
        guard case .value(let value) = assigned else {
            self.fault(&result, attribute.number, .type, "is an attribute, not a relationship")
            return nil
        }
        if value.isNull, self.isBatch { return value }
        if let fault = attribute.fault(value) {
            self.fault(&result, attribute.number, fault.reason, fault.text)
            return nil
        }
        return attribute.kept(value)
    }
}
