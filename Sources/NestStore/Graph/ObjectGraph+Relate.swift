import NestModel
import NestSchema

/// Changes to-many relationships from their owner's side.
extension ObjectGraph {
    /// A to-many relationship of an object.
    private enum Related {
        case toMany(EntityLayout.ToMany)
        case manyToMany(EntityLayout.ManyToMany)

        var destination: EntityNumber {
            switch self {
            case .toMany(let toMany): toMany.destination
            case .manyToMany(let manyToMany): manyToMany.destination
            }
        }

        var isOrdered: Bool {
            switch self {
            case .toMany(let toMany): toMany.inversePlace != nil
            case .manyToMany(let manyToMany): manyToMany.ownerPlace != nil
            }
        }
    }

    /// A to-many relationship of an owner, with its names for messages.
    private struct Side {
        var related: Related
        var owner: ObjectID
        var entity: EntityDescription
        var relationship: RelationshipDescription

        var name: String { "\(self.entity.name).\(self.relationship.name)" }
    }

    private func side(_ owner: ObjectID, _ property: PropertyNumber) throws(StoreError) -> Side {
        let (table, row) = try self.require(owner)
        let entity = table.layout.kind(row.entity).entity
        guard let relationship = entity.relationship(property), relationship.isToMany else {
            let name = entity.propertyName(property)
            let text = name.map { "\(entity.name).\($0) is not a to-many relationship: set its value instead" }
            throw .refused(
                .unknownProperty,
                text ?? "\(entity.name) has no property number \(property.rawValue)",
                object: owner
            )
        }
        let toMany = table.layout.toMany(property).map { Related.toMany($0) }
        // The layout has one of the two for each to-many relationship of the model.
        guard let related = toMany ?? table.layout.manyToMany(property).map({ Related.manyToMany($0) }) else {
            preconditionFailure("a to-many relationship has an inverse")
        }
        return Side(related: related, owner: owner, entity: entity, relationship: relationship)
    }

    /// Refuses objects that the relationship cannot refer to, and lists all of them.
    private func requireTargets(_ objects: [ObjectID], _ side: Side) throws(StoreError) {
        var strangers: [(ObjectID, String)] = []
        for id in objects where try !self.isObject(id, of: side.related.destination) {
            let (table, row) = try self.require(id)
            strangers.append((id, table.layout.kind(row.entity).entity.name))
        }
        guard !strangers.isEmpty else { return }
        let wanted = self.layout.model.entity(side.related.destination)?.name ?? ""
        throw Self.refusal(
            strangers.map { id, entity in
                self.fault(
                    side,
                    .destination,
                    "must refer to an object of \(wanted), but the object \(id) is of entity \(entity)"
                )
            }
        )
    }

    private func fault(_ side: Side, _ reason: ValidationFault.Reason, _ text: String) -> ValidationFault {
        ValidationFault(
            entity: side.entity.number,
            property: side.relationship.number,
            object: self.existing(side.owner),
            reason: reason,
            message: "\(side.name) \(text)"
        )
    }

    // MARK: Steps

    /// Adds an object to a to-many relationship, or moves it within the relationship.
    func relate(_ owner: ObjectID, _ property: PropertyNumber, _ object: ObjectID, at place: Place) throws(StoreError) {
        let side = try self.side(owner, property)
        try self.requireTargets([object], side)
        guard side.related.isOrdered || place == .last else {
            throw .refused(.invalid, "\(side.name) has no order: an object can only be added last", object: owner)
        }
        try self.relate(side, object, at: place)
    }

    private func relate(_ side: Side, _ object: ObjectID, at place: Place) throws(StoreError) {
        switch side.related {
        case .toMany(let toMany): try self.adopt(side.owner, toMany, object, at: place)
        case .manyToMany(let pairs): try self.pair(side.owner, pairs, object, at: place)
        }
    }

    func unrelate(_ owner: ObjectID, _ property: PropertyNumber, _ object: ObjectID) throws(StoreError) {
        let side = try self.side(owner, property)
        try self.requireTargets([object], side)
        try self.unrelate(side, [object])
    }

    private func unrelate(_ side: Side, _ objects: [ObjectID]) throws(StoreError) {
        switch side.related {
        case .toMany(let toMany): try self.release(side.owner, toMany, objects)
        case .manyToMany(let pairs):
            for object in objects { try self.unpair(side.owner, pairs, object) }
        }
    }

    /// Replaces the objects of a relationship. If it is ordered, the objects get this order, with as few moves as
    /// possible.
    func setRelated(_ owner: ObjectID, _ property: PropertyNumber, _ objects: [ObjectID]) throws(StoreError) {
        let side = try self.side(owner, property)
        let wanted = Set(objects)
        guard wanted.count == objects.count else {
            throw .refused(.invalid, "\(side.name) cannot contain the same object twice", object: owner)
        }
        try self.requireTargets(objects, side)
        let before = try self.objects(of: owner, side.related)
        try self.unrelate(side, before.filter { !wanted.contains($0) })
        let kept = before.filter { wanted.contains($0) }
        guard side.related.isOrdered else {
            let known = Set(kept)
            for object in objects where !known.contains(object) { try self.relate(side, object, at: .last) }
            return
        }
        // Objects that keep their relative order stay; the others are moved to their positions, from left to right.
        var indexes: [ObjectID: Int] = [:]
        for (index, object) in kept.enumerated() { indexes[object] = index }
        let known = objects.filter { indexes[$0] != nil }
        let staying = Set(longestIncreasingSubsequence(known.map { indexes[$0]! }).map { known[$0] })
        var left: ObjectID?
        for object in objects {
            if !staying.contains(object) {
                try self.relate(side, object, at: left.map { .after(.object($0)) } ?? .first)
            }
            left = object
        }
    }

    private func objects(of owner: ObjectID, _ related: Related) throws(StoreError) -> [ObjectID] {
        var objects: [ObjectID] = []
        switch related {
        case .toMany(let toMany):
            try self.table(toMany.destination).forEach(ofOwner: owner, slot: toMany.inverseSlot) { id, _ in
                objects.append(id)
            }
        case .manyToMany(let pairs):
            let table = try self.table(pairs.join)
            var ids: [ObjectID] = []
            try table.forEach(ofOwner: owner, slot: pairs.ownerSlot) { id, _ in ids.append(id) }
            for id in ids {
                if let target = try table.row(id)?.values.reference(pairs.targetSlot) { objects.append(target) }
            }
        }
        return objects
    }

    // MARK: One-to-many

    private func adopt(_ owner: ObjectID, _ toMany: EntityLayout.ToMany, _ object: ObjectID, at place: Place)
        throws(StoreError)
    {
        let table = try self.table(toMany.destination)
        if let index = toMany.inversePlace {
            return try self.move(table, object, place: index, owner: owner, at: place)
        }
        let inverse = table.layout.properties[toMany.inverseSlot]
        try self.update(object, values: [PropertyAssignment(inverse, .value(.reference(owner)))])
    }

    /// Removes objects from their owner. If no later step can give them another owner, all objects that need one are
    /// reported together, before anything is written.
    private func release(_ owner: ObjectID, _ toMany: EntityLayout.ToMany, _ objects: [ObjectID]) throws(StoreError) {
        let table = try self.table(toMany.destination)
        let layout = table.layout
        var owned: [ObjectID] = []
        for id in objects where try table.row(id)?.values.reference(toMany.inverseSlot) == owner {
            owned.append(id)
        }
        guard case .toOne(let inverse, _) = layout.slots[toMany.inverseSlot] else { return }
        if !inverse.isOptional, !self.reportsMissingAtEnd {
            var faults: [ValidationFault] = []
            for id in owned {
                if let row = try table.row(id) { faults.append(self.missing(layout, id, toMany.inverseSlot, row)) }
            }
            guard faults.isEmpty else { throw Self.refusal(faults) }
        }
        for id in owned { try self.update(id, values: [PropertyAssignment(inverse.number, .value(.null))]) }
    }

    // MARK: Many-to-many

    /// Returns the pair of two objects, or `nil`.
    private func pairID(_ table: EntityTable, _ pairs: EntityLayout.ManyToMany, _ owner: ObjectID, _ object: ObjectID)
        throws(StoreError) -> ObjectID?
    {
        let values: [AttributeValue] =
            pairs.ownerSlot == 0
            ? [.reference(owner), .reference(object)] : [.reference(object), .reference(owner)]
        return try table.objects(where: [0, 1], equal: values).first
    }

    private func pair(_ owner: ObjectID, _ pairs: EntityLayout.ManyToMany, _ object: ObjectID, at place: Place)
        throws(StoreError)
    {
        let table = try self.table(pairs.join)
        if let known = try self.pairID(table, pairs, owner, object) {
            // The pair exists: only its position can change.
            guard let index = pairs.ownerPlace else { return }
            return try self.move(table, known, place: index, owner: owner, at: try self.pairPlace(place, pairs, owner))
        }
        try self.insertPair(table, pairs, owner, object, at: try self.pairPlace(place, pairs, owner))
        if pairs.isSymmetric, owner != object { try self.insertPair(table, pairs, object, owner, at: .last) }
    }

    /// Converts a place next to an object to a place next to its pair.
    private func pairPlace(_ place: Place, _ pairs: EntityLayout.ManyToMany, _ owner: ObjectID) throws(StoreError)
        -> Place
    {
        func pair(_ reference: ObjectReference?) throws(StoreError) -> ObjectReference? {
            guard let reference else { return nil }
            let pair = try self.pairID(try self.table(pairs.join), pairs, owner, try self.resolve(reference))
            return pair.map { .object($0) }
        }
        func sibling(_ reference: ObjectReference) throws(StoreError) -> ObjectReference {
            guard let pair = try pair(reference) else {
                throw try self.noSibling(try self.resolve(reference), owner)
            }
            return pair
        }
        return switch place {
        case .before(let reference): .before(try sibling(reference))
        case .after(let reference): .after(try sibling(reference))
        case .near(let left, let right): .near(left: try pair(left), right: try pair(right))
        case .first, .last, .at: place
        }
    }

    private func insertPair(
        _ table: EntityTable,
        _ pairs: EntityLayout.ManyToMany,
        _ owner: ObjectID,
        _ object: ObjectID,
        at place: Place
    ) throws(StoreError) {
        let layout = table.layout
        var row = ObjectRow(
            entity: layout.number,
            revision: self.revision,
            values: [.null, .null],
            places: SparsePlaces(count: layout.placedSlots.count)
        )
        row.values[pairs.ownerSlot] = .reference(owner)
        row.values[pairs.targetSlot] = .reference(object)
        let id = try self.newObjectID()
        for (index, slot) in layout.placedSlots.enumerated() {
            let holder = slot == pairs.ownerSlot ? owner : object
            let at = slot == pairs.ownerSlot ? place : .last
            row.places[index] = try self.place(table, place: index, owner: holder, at: at, moving: nil)
        }
        try table.insert(id, row)
        try self.recorder.record(layout.number, id, before: nil, after: row)
        for (index, slot) in layout.placedSlots.enumerated() {
            let holder = slot == pairs.ownerSlot ? owner : object
            self.recorder.notePlaced(layout.number, id, owner: holder, place: index)
        }
    }

    private func unpair(_ owner: ObjectID, _ pairs: EntityLayout.ManyToMany, _ object: ObjectID) throws(StoreError) {
        let table = try self.table(pairs.join)
        if let id = try self.pairID(table, pairs, owner, object) { try self.deletePair(table, id) }
        if pairs.isSymmetric, let id = try self.pairID(table, pairs, object, owner) { try self.deletePair(table, id) }
    }

    func deletePair(_ table: EntityTable, _ id: ObjectID, _ losses: RevertLosses? = nil) throws(StoreError) {
        guard let row = try table.row(id) else { return }
        if let losses { try self.note(parted: id, row, table, losses) }
        try self.deleteRow(table, id, row, reached: nil)
    }
}
