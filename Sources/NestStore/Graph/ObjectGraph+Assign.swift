import Glibc
import NestModel
import NestSchema

/// Checks against the model what a step sets.
extension ObjectGraph {
    /// The values and placements that a step sets, by slot and by place. All faults are collected, so that a refusal
    /// lists every fault.
    struct Assignments {
        var values: [(slot: Int, value: AttributeValue)] = []
        var placements: [(place: Int, owner: ObjectID, at: Place)] = []
        fileprivate var assigned = SlotSet()
        fileprivate var faults: [ValidationFault] = []
        /// Faults for null in required properties. They are reported at once only if no later step can set a value.
        fileprivate var missing: [ValidationFault] = []
        /// Missing objects to which relationships were to be set. Each is also in `faults`.
        fileprivate var absent: [ObjectID] = []

        /// Removes everything and keeps the memory of the lists.
        mutating func clear() {
            // `removeAll(keepingCapacity:)` would cost as much as a dozen of these.
            while !self.values.isEmpty { self.values.removeLast() }
            while !self.placements.isEmpty { self.placements.removeLast() }
            self.assigned = SlotSet()
            if !self.missing.isEmpty { self.missing = [] }
        }
    }

    /// The purpose of an assignment.
    enum Purpose {
        case insert
        case update(ObjectID)
        /// Checked in the same way whether an object is found or created.
        case findOrCreate

        fileprivate var object: ObjectID? {
            if case .update(let id) = self { id } else { nil }
        }

        /// Whether setting the owner to null leaves an object, other than the root itself, without an owner.
        fileprivate func isRootless(_ root: RootDescription) -> Bool {
            switch self {
            case .insert: true
            case .update(let id): id != root.object
            case .findOrCreate: false
            }
        }
    }

    /// Returns the values and placements that a step sets. Throws a refusal if any of them must not be set.
    func assignments(
        _ layout: EntityLayout,
        _ kind: EntityLayout.Kind,
        for purpose: Purpose,
        values: [PropertyAssignment],
        placements: [Placement] = []
    ) throws(StoreError) -> Assignments {
        let context = AssignmentContext(
            layout: layout,
            kind: kind,
            object: purpose.object.flatMap { self.existing($0) }
        )
        var result = Assignments()
        swap(&result, &self.spareAssignments)
        for assignment in values {
            guard let slot = context.slot(assignment.property, &result) else { continue }
            if case .value(let value) = assignment.value, layout.isPlain[slot], layout.columns[slot].holds(value) {
                result.values.append((slot, value))
                continue
            }
            switch layout.slots[slot] {
            case .attribute(let attribute):
                if let value = context.value(attribute, assignment.value, &result) {
                    result.values.append((slot, value))
                }
            case .toOne(let relationship, let place):
                guard let target = try self.target(relationship, assignment.value, purpose, context, &result) else {
                    continue
                }
                if let place, let owner = target.referenceValue {
                    result.placements.append((place, owner, .last))
                } else {
                    result.values.append((slot, target))
                }
            }
        }
        for placement in placements {
            guard let slot = context.slot(placement.relationship, &result) else { continue }
            let place = layout.placeOfSlot[slot]
            guard place >= 0, let destination = layout.destinations[slot] else {
                context.fault(&result, placement.relationship, .unknownProperty, "has no order: set it as a value")
                continue
            }
            let owner = try self.resolve(placement.owner)
            if try self.isObject(owner, of: destination) {
                result.placements.append((place, owner, placement.place))
            } else {
                try self.refuseTarget(owner, placement.relationship, destination, context, &result)
            }
        }
        try self.refuseFaults(context, purpose, &result)
        return result
    }

    private func refuseFaults(_ context: AssignmentContext, _ purpose: Purpose, _ result: inout Assignments)
        throws(StoreError)
    {
        if !self.isBatch {
            let isLate: Bool
            if case .findOrCreate = purpose { isLate = false } else { isLate = self.reportsMissingAtEnd }
            if !result.missing.isEmpty, !isLate || !result.faults.isEmpty { result.faults += result.missing }
            if case .insert = purpose, !result.faults.isEmpty { context.addLacking(&result) }
        }
        // If all faults are missing objects the refusal is NOT_FOUND, which clients distinguish from a wrong value.
        if let absent = result.absent.first, result.absent.count == result.faults.count { throw Self.notFound(absent) }
        guard !result.faults.isEmpty else { return }
        let object = context.object.flatMap { self.existing($0) }
        for index in result.faults.indices { result.faults[index].object = object }
        throw Self.refusal(result.faults)
    }

    /// Returns `.null` or a reference to an existing object of the right entity; `nil` if the assigned value is
    /// neither, which is then a fault.
    private func target(
        _ relationship: RelationshipDescription,
        _ assigned: MutationValue,
        _ purpose: Purpose,
        _ context: AssignmentContext,
        _ result: inout Assignments
    ) throws(StoreError) -> AttributeValue? {
        let target: ObjectID
        switch assigned {
        case .value(.null):
            if let root = context.layout.root, root.relationship == relationship.number, purpose.isRootless(root) {
                result.faults.append(Self.rootless(context.layout, root, context.object))
            } else if !relationship.isOptional {
                context.missing(&result, relationship.number)
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
            try self.refuseTarget(target, relationship.number, relationship.destination, context, &result)
            return nil
        }
        return .reference(target)
    }

    private func refuseTarget(
        _ id: ObjectID,
        _ property: PropertyNumber,
        _ destination: EntityNumber,
        _ context: AssignmentContext,
        _ result: inout Assignments
    ) throws(StoreError) {
        guard let found = try self.find(id) else {
            result.absent.append(id)
            return context.fault(
                &result,
                property,
                .destination,
                "refers to the object \(id), which does not exist"
            )
        }
        let entity = found.table.layout.kind(found.row.entity).entity.name
        let wanted = self.layout.model.entity(destination)?.name ?? ""
        context.fault(
            &result,
            property,
            .destination,
            "must refer to an object of \(wanted), but the object \(id) is of entity \(entity)"
        )
    }

    /// Whether an object exists and is of an entity or of one of its sub-entities.
    func isObject(_ id: ObjectID, of entity: EntityNumber) throws(StoreError) -> Bool {
        let table = try self.table(entity)
        if entity == table.layout.number { return try table.exists(id) }
        guard let own = try table.entity(of: id) else { return false }
        return self.layout.model.isKind(own, of: entity)
    }
}

extension EntityLayout.Column {
    /// Whether a value is of the column's type, and not too large.
    fileprivate func holds(_ value: AttributeValue) -> Bool {
        switch (self, value) {
        case (.integer, .integer), (.boolean, .boolean), (.date, .date), (.uuid, .uuid): true
        case (.string, .string(var text)):
            text.utf8.count <= Limits.valueBytesMax
                && text.withUTF8 { $0.isEmpty || memchr($0.baseAddress!, 0, $0.count) == nil }
        case (.data, .data(let bytes)): bytes.count <= Limits.valueBytesMax
        default: false
        }
    }
}

/// The object or the entity whose properties are set.
private struct AssignmentContext {
    let layout: EntityLayout
    let kind: EntityLayout.Kind
    let object: ObjectID?

    func fault(
        _ result: inout ObjectGraph.Assignments,
        _ property: PropertyNumber,
        _ reason: ValidationFault.Reason,
        _ text: String
    ) {
        result.faults.append(self.fault(property, reason, text))
    }

    func missing(_ result: inout ObjectGraph.Assignments, _ property: PropertyNumber) {
        result.missing.append(self.fault(property, .required, "is required"))
    }

    /// Adds a fault for each required property of a new object that is neither set nor has a default.
    func addLacking(_ result: inout ObjectGraph.Assignments) {
        for slot in self.kind.requiredSlots where !result.assigned.contains(slot) {
            guard self.kind.defaultValues.isNull(slot), !self.kind.nowSlots.contains(slot) else { continue }
            // An object without an owner is put under the root.
            if let root = self.layout.root, self.layout.slot(of: root.relationship) == slot { continue }
            self.fault(&result, self.layout.properties[slot], .required, "is required")
        }
    }

    private func fault(_ property: PropertyNumber, _ reason: ValidationFault.Reason, _ text: String) -> ValidationFault
    {
        let name = self.kind.entity.propertyName(property) ?? "property number \(property.rawValue)"
        return ValidationFault(
            entity: self.kind.number,
            property: property,
            object: self.object,
            reason: reason,
            message: "\(self.kind.entity.name).\(name) \(text)"
        )
    }

    /// Returns the slot of a property; `nil` if the entity has no such slot, which is a fault. A property that is set
    /// twice is a fault too.
    func slot(_ property: PropertyNumber, _ result: inout ObjectGraph.Assignments) -> Int? {
        guard let slot = self.layout.slot(of: property), self.kind.slots.contains(slot) else {
            if self.kind.entity.relationship(property) != nil {
                self.fault(
                    &result,
                    property,
                    .unknownProperty,
                    "is a to-many relationship: relate objects to it, or set its inverse"
                )
            } else {
                let text = "\(self.kind.entity.name) has no property number \(property.rawValue)"
                result.faults.append(
                    ValidationFault(
                        entity: self.kind.number,
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
        if value.isNull {
            if !attribute.isOptional { self.missing(&result, attribute.number) }
            return value
        }
        let slot = self.layout.slot(of: attribute.number)
        if let fault = attribute.fault(value) ?? slot.flatMap({ self.layout.patternFault($0, value) }) {
            self.fault(&result, attribute.number, fault.reason, fault.text)
            return nil
        }
        return attribute.kept(value)
    }
}
