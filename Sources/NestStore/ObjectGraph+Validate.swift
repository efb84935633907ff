import NestModel

extension ObjectGraph {
    /// Judges what the request leaves: required values, counts, uniqueness. Throws everything that is wrong with it, together
    /// with what its steps have found. The last call of a request.
    package func validate() throws {
        var owners: Set<CountedOwner> = []
        for (entity, id) in self.recorder.streamedUnique {
            let table = try self.table(entity)
            if let row = try table.row(id) { try self.judgeUniqueness(table, id, before: nil, row) }
        }
        for index in 0..<self.recorder.touchedCount {
            let object = self.recorder.touched(at: index)
            let table = try self.table(object.entity)
            if self.layout.hasCounts { self.noteCounted(object, table.layout, &owners) }
            guard let row = object.after else { continue }
            self.judgeRequired(table.layout, object.id, isNew: object.before == nil, row)
            if !table.layout.uniquenesses.isEmpty {
                try self.judgeUniqueness(table, object.id, before: object.before, row)
            }
        }
        for owner in owners { try self.judgeCount(owner) }
        guard self.faults.isEmpty else { throw Self.refusal(self.faults) }
    }

    // MARK: Required

    private func judgeRequired(_ layout: EntityLayout, _ id: ObjectID, isNew: Bool, _ row: ObjectRow) {
        guard !layout.isJoin else { return }
        let kind = layout.kind(row.entity)
        if kind.mayBeTooLarge { self.judgeSize(kind, isNew ? nil : id, row) }
        for slot in kind.requiredSlots where row.values[slot].isNull {
            // A root's owner is nobody, whatever the model says.
            if layout.root?.object == id, case .toOne = layout.slots[slot] { continue }
            self.faults.append(
                ValidationFault(
                    entity: row.entity,
                    property: layout.properties[slot],
                    object: isNew ? nil : id,
                    reason: .required,
                    message: "\(layout.fullName(slot, row.entity)) is required"
                        + (isNew ? "" : ": the object \(id) needs it")
                )
            )
        }
    }

    func judgeSize(_ kind: EntityLayout.Kind, _ id: ObjectID?, _ row: ObjectRow) {
        let byteCount = row.values.reduce(0) { $0 + $1.byteCount }
        guard byteCount > Limits.objectBytesMax else { return }
        self.faults.append(
            ValidationFault(
                entity: row.entity,
                object: id,
                reason: .tooLarge,
                message:
                    "\(kind.entity.name) has \(byteCount) bytes of text and data; at most \(Limits.objectBytesMax) are allowed in one object"
            )
        )
    }

    /// The same for an object about to be inserted by the only step of a request, so that nothing need be rolled back.
    func refuseMissing(_ layout: EntityLayout, _ row: ObjectRow, placed: [Int]) throws {
        let kind = layout.kind(row.entity)
        var faults: [ValidationFault] = []
        for slot in kind.requiredSlots where row.values[slot].isNull {
            if layout.placeOfSlot[slot] >= 0, placed.contains(layout.placeOfSlot[slot]) { continue }
            faults.append(
                ValidationFault(
                    entity: row.entity,
                    property: layout.properties[slot],
                    reason: .required,
                    message: "\(layout.fullName(slot, row.entity)) is required"
                )
            )
        }
        guard faults.isEmpty else { throw Self.refusal(faults) }
    }

    // MARK: Uniqueness

    private func judgeUniqueness(_ table: EntityTable, _ id: ObjectID, before: ObjectRow?, _ row: ObjectRow) throws {
        for uniqueness in table.layout.uniquenesses where uniqueness.entities.contains(row.entity) {
            let values = uniqueness.slots.map { row.values[$0] }
            if let before, uniqueness.slots.allSatisfy({ before.values[$0] == row.values[$0] }) { continue }
            guard !values.contains(where: \.isNull) else { continue }
            let found = try table.objects(where: uniqueness.slots, equal: values, entities: uniqueness.entities)
            guard let other = found.first(where: { $0 != id }) else { continue }
            let names = uniqueness.slots.map { table.layout.propertyName(table.layout.properties[$0]) ?? "" }
            let entity = table.layout.kind(row.entity).entity.name
            // Two objects of one request that have the same are told once.
            let isTold = self.faults.contains {
                $0.reason == .notUnique && $0.object == other
                    && $0.property == table.layout.properties[uniqueness.slots[0]]
            }
            if isTold { continue }
            self.faults.append(
                ValidationFault(
                    entity: row.entity,
                    property: table.layout.properties[uniqueness.slots[0]],
                    object: id,
                    reason: .notUnique,
                    message:
                        "\(entity).\(names.joined(separator: ", ")) must be unique: the object \(other) has the same"
                )
            )
        }
    }

    // MARK: Counts

    /// A to-many relationship with bounds, of an owner whose objects the request may have changed.
    private struct CountedOwner: Hashable {
        var entity: EntityNumber
        var relationship: PropertyNumber
        var owner: ObjectID
    }

    private func noteCounted(_ object: TouchedObject, _ layout: EntityLayout, _ owners: inout Set<CountedOwner>) {
        if object.before == nil, let row = object.after, !layout.isJoin {
            // A new object has none: that may be too few.
            for relationship in layout.kind(row.entity).entity.relationships
            where relationship.isToMany && !relationship.admits(count: 0) {
                owners.insert(.init(entity: row.entity, relationship: relationship.number, owner: object.id))
            }
        }
        for (slot, description) in layout.slots.enumerated() {
            guard case .toOne(let relationship, _) = description else { continue }
            let before = object.before?.values[slot].referenceValue
            let after = object.after?.values[slot].referenceValue
            guard before != after else { continue }
            for owner in [before, after] {
                guard let owner, let counted = self.countedInverse(layout, slot, relationship) else { continue }
                owners.insert(.init(entity: counted.entity, relationship: counted.relationship, owner: owner))
            }
        }
    }

    /// The to-many relationship at the other end of a slot, when it has bounds.
    private func countedInverse(
        _ layout: EntityLayout,
        _ slot: Int,
        _ relationship: RelationshipDescription
    ) -> (entity: EntityNumber, relationship: PropertyNumber)? {
        let destination = relationship.destination
        guard let owner = self.layout[destination] else { return nil }
        let found: RelationshipDescription?
        if layout.isJoin {
            found = owner.manyToMany.first { $0.join == layout.number && $0.ownerSlot == slot }?.relationship
        } else {
            found =
                owner.toMany.first {
                    $0.relationship.number == relationship.inverse && $0.inverseSlot == slot
                        && self.layout[$0.destination] === layout
                }?.relationship
        }
        guard let found, found.minimumCount > 0 || found.maximumCount > 0 || !found.isOptional else { return nil }
        return (destination, found.number)
    }

    private func judgeCount(_ counted: CountedOwner) throws {
        guard let (table, row) = try self.find(counted.owner) else { return }
        let layout = table.layout
        let count: Int
        let relationship: RelationshipDescription
        if let toMany = layout.toMany(counted.relationship) {
            relationship = toMany.relationship
            count = try self.table(toMany.destination).count(ofOwner: counted.owner, slot: toMany.inverseSlot)
        } else if let manyToMany = layout.manyToMany(counted.relationship) {
            relationship = manyToMany.relationship
            count = try self.table(manyToMany.join).count(ofOwner: counted.owner, slot: manyToMany.ownerSlot)
        } else {
            return
        }
        guard !relationship.admits(count: count) else { return }
        let entity = layout.kind(row.entity).entity.name
        let least = max(relationship.minimumCount, 1)
        let bounds =
            relationship.maximumCount > 0 && count > relationship.maximumCount
            ? "at most \(relationship.maximumCount)" : "at least \(least)"
        self.faults.append(
            ValidationFault(
                entity: row.entity,
                property: relationship.number,
                object: counted.owner,
                reason: count == 0 ? .required : .range,
                message: "\(entity).\(relationship.name) must lead to \(bounds), not \(count)"
            )
        )
    }

    // MARK: Refusals

    /// An error with everything that is wrong; its code is that of the one kind of fault, when there is one.
    static func refusal(_ faults: [ValidationFault]) -> NestError {
        let listed = Array(faults.prefix(Limits.faultsPerErrorMax))
        var text = listed.map(\.message).joined(separator: "; ")
        if faults.count > listed.count { text += "; and \(faults.count - listed.count) more" }
        let reasons = Set(faults.map(\.reason))
        let code: ErrorCode
        switch reasons.count == 1 ? reasons.first : nil {
        case .unknownProperty: code = .unknownProperty
        case .tooLarge: code = .valueTooLarge
        case .text: code = .invalidText
        case .notUnique: code = .notUnique
        default: code = .validationFailed
        }
        return NestError(code, text, faults: listed)
    }
}
