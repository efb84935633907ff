import NestModel

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

    private func related(_ owner: ObjectID, _ property: PropertyNumber) throws -> (Related, name: String) {
        let (table, row) = try self.require(owner)
        let entity = table.layout.kind(row.entity).entity
        guard let relationship = entity.relationship(property), relationship.isToMany else {
            let name = entity.propertyName(property)
            let text = name.map { "\(entity.name).\($0) is not to-many: set it" }
            throw NestError(
                .unknownProperty,
                text ?? "\(entity.name) has no property number \(property.rawValue)",
                object: owner
            )
        }
        let name = "\(entity.name).\(relationship.name)"
        if let toMany = table.layout.toMany(property) { return (.toMany(toMany), name) }
        if let manyToMany = table.layout.manyToMany(property) { return (.manyToMany(manyToMany), name) }
        preconditionFailure("a to-many relationship has another side")
    }

    private func requireTarget(_ id: ObjectID, _ related: Related, _ name: String) throws {
        guard try !self.isObject(id, of: related.destination) else { return }
        let (table, row) = try self.require(id)
        let wanted = self.layout.model.entity(related.destination)?.name ?? ""
        throw NestError(
            .validationFailed,
            "\(name) leads to \(wanted), but the object \(id) is of entity \(table.layout.kind(row.entity).entity.name)",
            object: id
        )
    }

    // MARK: Steps

    /// Puts an object among those of a to-many relationship, or moves it there.
    func relate(_ owner: ObjectID, _ property: PropertyNumber, _ object: ObjectID, at place: Place) throws {
        let (related, name) = try self.related(owner, property)
        try self.requireTarget(object, related, name)
        guard related.isOrdered || place == .last else {
            throw NestError(.invalid, "\(name) has no order: nothing can be put at a place in it", object: owner)
        }
        switch related {
        case .toMany(let toMany): try self.adopt(owner, toMany, object, at: place)
        case .manyToMany(let pairs): try self.pair(owner, pairs, object, at: place)
        }
    }

    func unrelate(_ owner: ObjectID, _ property: PropertyNumber, _ object: ObjectID) throws {
        let (related, name) = try self.related(owner, property)
        try self.requireTarget(object, related, name)
        switch related {
        case .toMany(let toMany): try self.release(owner, toMany, object)
        case .manyToMany(let pairs): try self.unpair(owner, pairs, object)
        }
    }

    /// Makes a relationship lead to just these objects; in this order when it is ordered, with as few moves as can be.
    func setRelated(_ owner: ObjectID, _ property: PropertyNumber, _ objects: [ObjectID]) throws {
        let (related, name) = try self.related(owner, property)
        guard Set(objects).count == objects.count else {
            throw NestError(.invalid, "\(name) cannot lead to the same object twice", object: owner)
        }
        for object in objects { try self.requireTarget(object, related, name) }
        let wanted = Set(objects)
        let before = try self.objects(of: owner, related)
        for object in before where !wanted.contains(object) { try self.unrelate(owner, property, object) }
        let kept = before.filter { wanted.contains($0) }
        guard related.isOrdered else {
            let known = Set(kept)
            for object in objects where !known.contains(object) { try self.relate(owner, property, object, at: .last) }
            return
        }
        // Those that keep their order among themselves stay; the rest goes to its place, from left to right.
        var indexes: [ObjectID: Int] = [:]
        for (index, object) in kept.enumerated() { indexes[object] = index }
        let known = objects.filter { indexes[$0] != nil }
        let staying = Set(longestIncreasingSubsequence(known.map { indexes[$0]! }).map { known[$0] })
        var left: ObjectID?
        for object in objects {
            if !staying.contains(object) {
                try self.relate(owner, property, object, at: left.map { .after(.object($0)) } ?? .first)
            }
            left = object
        }
    }

    private func objects(of owner: ObjectID, _ related: Related) throws -> [ObjectID] {
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
                if let target = try table.row(id)?.values[pairs.targetSlot].referenceValue { objects.append(target) }
            }
        }
        return objects
    }

    // MARK: One-to-many

    private func adopt(_ owner: ObjectID, _ toMany: EntityLayout.ToMany, _ object: ObjectID, at place: Place) throws {
        let table = try self.table(toMany.destination)
        if let index = toMany.inversePlace {
            return try self.move(table, object, place: index, owner: owner, at: place)
        }
        let inverse = table.layout.properties[toMany.inverseSlot]
        try self.update(object, values: [PropertyAssignment(inverse, .value(.reference(owner)))])
    }

    private func release(_ owner: ObjectID, _ toMany: EntityLayout.ToMany, _ object: ObjectID) throws {
        let table = try self.table(toMany.destination)
        guard try table.row(object)?.values[toMany.inverseSlot].referenceValue == owner else { return }
        let inverse = table.layout.properties[toMany.inverseSlot]
        try self.update(object, values: [PropertyAssignment(inverse, .value(.null))])
    }

    // MARK: Many-to-many

    /// The pair of two objects, or `nil`.
    private func pairID(_ table: EntityTable, _ pairs: EntityLayout.ManyToMany, _ owner: ObjectID, _ object: ObjectID)
        throws -> ObjectID?
    {
        let values: [AttributeValue] =
            pairs.ownerSlot == 0
            ? [.reference(owner), .reference(object)] : [.reference(object), .reference(owner)]
        return try table.objects(where: [0, 1], equal: values).first
    }

    private func pair(_ owner: ObjectID, _ pairs: EntityLayout.ManyToMany, _ object: ObjectID, at place: Place) throws {
        let table = try self.table(pairs.join)
        if let known = try self.pairID(table, pairs, owner, object) {
            // There already: only its place can change.
            guard let index = pairs.ownerPlace else { return }
            return try self.move(table, known, place: index, owner: owner, at: try self.pairPlace(place, pairs, owner))
        }
        try self.insertPair(table, pairs, owner, object, at: try self.pairPlace(place, pairs, owner))
        if pairs.isSymmetric, owner != object { try self.insertPair(table, pairs, object, owner, at: .last) }
    }

    /// A place told by the objects next to it, as one told by their pairs.
    private func pairPlace(_ place: Place, _ pairs: EntityLayout.ManyToMany, _ owner: ObjectID) throws -> Place {
        func sibling(_ reference: ObjectReference) throws -> ObjectReference {
            let id = try self.resolve(reference)
            let table = try self.table(pairs.join)
            guard let pair = try self.pairID(table, pairs, owner, id) else {
                throw NestError(
                    .invalid,
                    "the object \(id) is not under \(owner), so nothing can be placed next to it there",
                    object: id
                )
            }
            return .object(pair)
        }
        return switch place {
        case .before(let reference): .before(try sibling(reference))
        case .after(let reference): .after(try sibling(reference))
        case .first, .last, .at: place
        }
    }

    private func insertPair(
        _ table: EntityTable,
        _ pairs: EntityLayout.ManyToMany,
        _ owner: ObjectID,
        _ object: ObjectID,
        at place: Place
    ) throws {
        let layout = table.layout
        var row = ObjectRow(
            entity: layout.number,
            revision: self.revision,
            values: [.null, .null],
            places: [SparsePlace](repeating: .none, count: layout.placedSlots.count)
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

    private func unpair(_ owner: ObjectID, _ pairs: EntityLayout.ManyToMany, _ object: ObjectID) throws {
        let table = try self.table(pairs.join)
        if let id = try self.pairID(table, pairs, owner, object) { try self.deletePair(table, id) }
        if pairs.isSymmetric, let id = try self.pairID(table, pairs, object, owner) { try self.deletePair(table, id) }
    }

    func deletePair(_ table: EntityTable, _ id: ObjectID) throws {
        guard let row = try table.row(id) else { return }
        try self.deleteRow(table, id, row, reached: nil)
    }
}
