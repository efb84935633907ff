import NestModel
import NestSchema

/// The rules that are checked at the end of a request.
extension ObjectGraph {
    /// Checks the objects that the request leaves: required values, counts, uniqueness. Throws a refusal with all
    /// faults, including those that the steps have found. The last call of a request.
    package func validate() throws(StoreError) {
        // The lists are asked first whether they are empty: a loop over one retains it.
        if self.recorder.hasRewritten { try self.settle() }
        var twins: Set<Twin> = []
        if self.recorder.hasStreamedUnique {
            for (entity, id) in self.recorder.streamedUnique {
                let table = try self.table(entity)
                if let row = try table.row(id) { try self.checkUniqueness(table, id, before: nil, row, &twins) }
            }
        }
        var counted = self.layout.hasCounts ? self.recorder.streamedCounted : nil
        for index in 0..<self.recorder.changedCount {
            let entity = self.recorder.changedEntity(at: index)
            let table = try self.table(entity)
            if !self.layout.hasCounts, table.layout.uniquenesses.isEmpty, !table.layout.isJoin {
                let kind = table.layout.kind(entity)
                if !kind.mayBeTooLarge, self.recorder.isWhole(at: index, kind) { continue }
            }
            let object = self.recorder.changed(at: index)
            counted?.note(object)
            guard let row = object.after else { continue }
            self.checkRequired(table.layout, object.id, row)
            if !table.layout.uniquenesses.isEmpty {
                try self.checkUniqueness(table, object.id, before: object.before, row, &twins)
            }
        }
        if !self.emptied.isEmpty {
            for (table, id) in self.emptied where self.recorder.changedObject(id) == nil {
                if let row = try table.row(id) { self.checkRequired(table.layout, id, row) }
            }
        }
        if let counted { for owner in counted.owners { try self.checkCount(owner) } }
        guard self.faults.isEmpty else { throw Self.refusal(self.faults) }
    }

    /// Restores the old revision of an object that was changed and changed back: it has not changed.
    private func settle() throws(StoreError) {
        for index in self.recorder.rewritten {
            let object = self.recorder.changed(at: index)
            let table = try self.table(object.entity)
            guard let before = object.before, let after = object.after, after.revision != before.revision,
                object.change(table.layout) == nil
            else { continue }
            var settled = after
            settled.revision = before.revision
            try table.update(object.id, from: after, to: settled)
            try self.recorder.record(object.entity, object.id, before: after, after: settled)
        }
    }

    // MARK: Required

    /// Returns the object for a fault; `nil` if this request inserts the object.
    func existing(_ id: ObjectID) -> ObjectID? {
        if let wasThere = self.recorder.wasThere(id) { return wasThere ? id : nil }
        return id.rawValue < self.firstObjectID ? id : nil
    }

    /// Returns the fault for a required slot without a value.
    func missing(_ layout: EntityLayout, _ id: ObjectID, _ slot: Int, _ row: ObjectRow) -> ValidationFault {
        let object = self.existing(id)
        return ValidationFault(
            entity: row.entity,
            property: layout.properties[slot],
            object: object,
            reason: .required,
            message: "\(layout.fullName(slot, row.entity)) is required"
                + (object.map { ": the object \($0) needs it" } ?? "")
        )
    }

    private func checkRequired(_ layout: EntityLayout, _ id: ObjectID, _ row: ObjectRow) {
        guard !layout.isJoin else { return }
        let kind = layout.kind(row.entity)
        if kind.mayBeTooLarge { self.checkSize(kind, self.existing(id), row) }
        for slot in kind.requiredSlots where row.values.isNull(slot) {
            // The root has no owner, even if the model requires one.
            if layout.root?.object == id, case .toOne = layout.slots[slot] { continue }
            self.faults.append(self.missing(layout, id, slot, row))
        }
    }

    /// Refuses missing values of an object that the only step of a request is about to insert, so that nothing has to
    /// be rolled back.
    func refuseMissing(
        _ layout: EntityLayout,
        _ kind: EntityLayout.Kind,
        _ row: ObjectRow,
        placements: [(place: Int, owner: ObjectID, at: Place)]
    ) throws(StoreError) {
        var faults: [ValidationFault] = []
        for slot in kind.requiredSlots where row.values.isNull(slot) {
            let place = layout.placeOfSlot[slot]
            if place >= 0, placements.contains(where: { $0.place == place }) { continue }
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

    func checkSize(_ kind: EntityLayout.Kind, _ id: ObjectID?, _ row: ObjectRow) {
        if let fault = Self.sizeFault(kind, id, row) { self.faults.append(fault) }
    }

    static func sizeFault(_ kind: EntityLayout.Kind, _ id: ObjectID?, _ row: ObjectRow) -> ValidationFault? {
        let byteCount = row.values.byteCount
        guard byteCount > Limits.objectBytesMax else { return nil }
        return ValidationFault(
            entity: row.entity,
            object: id,
            reason: .tooLarge,
            message:
                "\(kind.entity.name) has \(byteCount) bytes of text and data; at most "
                + "\(Limits.objectBytesMax) are allowed in one object"
        )
    }

    // MARK: Uniqueness

    /// An object that has the same values as another.
    private struct Twin: Hashable {
        var id: ObjectID
        var slots: [Int]
    }

    private func checkUniqueness(
        _ table: EntityTable,
        _ id: ObjectID,
        before: ObjectRow?,
        _ row: ObjectRow,
        _ twins: inout Set<Twin>
    ) throws(StoreError) {
        for uniqueness in table.layout.uniquenesses where uniqueness.entities.contains(row.entity) {
            if let before, uniqueness.slots.allSatisfy({ before.values.isSame($0, as: row.values) }) { continue }
            let values = uniqueness.slots.map { row.values[$0] }
            guard !values.contains(where: \.isNull) else { continue }
            let found = try table.objects(where: uniqueness.slots, equal: values, entities: uniqueness.entities)
            guard let other = found.first(where: { $0 != id }) else { continue }
            twins.insert(Twin(id: id, slots: uniqueness.slots))
            // Two objects of one request with the same values are reported once.
            if twins.contains(Twin(id: other, slots: uniqueness.slots)) { continue }
            let names = uniqueness.slots.map { table.layout.propertyName(table.layout.properties[$0]) ?? "" }
            let entity = table.layout.kind(row.entity).entity.name
            let twin =
                self.existing(other).map { "the object \($0) has the same" } ?? "another new object has the same"
            self.faults.append(
                ValidationFault(
                    entity: row.entity,
                    property: table.layout.properties[uniqueness.slots[0]],
                    object: self.existing(id),
                    reason: .notUnique,
                    message: "\(entity).\(names.joined(separator: ", ")) must be unique: \(twin)"
                )
            )
        }
    }

    // MARK: Counts

    private func checkCount(_ counted: CountedOwners.Owner) throws(StoreError) {
        guard let (table, row) = try self.find(counted.id) else { return }
        let layout = table.layout
        let count: Int
        let relationship: RelationshipDescription
        if let toMany = layout.toMany(counted.relationship) {
            relationship = toMany.relationship
            count = try self.table(toMany.destination).count(ofOwner: counted.id, slot: toMany.inverseSlot)
        } else if let manyToMany = layout.manyToMany(counted.relationship) {
            relationship = manyToMany.relationship
            count = try self.table(manyToMany.join).count(ofOwner: counted.id, slot: manyToMany.ownerSlot)
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
                object: self.existing(counted.id),
                reason: count == 0 ? .required : .range,
                message: "\(entity).\(relationship.name) must refer to \(bounds), not to \(count)"
            )
        )
    }

    // MARK: Refusals

    /// Returns a refusal with all faults. If they are of one kind, its code is the code of that kind.
    static func refusal(_ faults: [ValidationFault]) -> StoreError {
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
        return .refused(code, text, faults: listed)
    }
}
