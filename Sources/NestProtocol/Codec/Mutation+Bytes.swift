import NestModel

/// The byte form of a transaction.
extension ByteWriter {
    package mutating func write(reference: ObjectReference) {
        self.write(zigzag: reference.rawValue)
    }

    package mutating func write(place: Place) {
        switch place {
        case .last:
            self.write(byte: 0)
        case .first:
            self.write(byte: 1)
        case .before(let reference):
            self.write(byte: 2)
            self.write(reference: reference)
        case .after(let reference):
            self.write(byte: 3)
            self.write(reference: reference)
        case .at(let index):
            self.write(byte: 4)
            self.write(count: index)
        case .near(let left, let right):
            self.write(byte: 5)
            self.write(zigzag: left?.rawValue ?? 0)
            self.write(zigzag: right?.rawValue ?? 0)
        }
    }

    package mutating func write(placement: Placement) {
        self.write(count: Int(placement.relationship.rawValue))
        self.write(reference: placement.owner)
        self.write(place: placement.place)
    }

    private mutating func write(assignments: [PropertyAssignment]) {
        self.write(count: assignments.count)
        for assignment in assignments {
            self.write(count: Int(assignment.property.rawValue))
            switch assignment.value {
            case .value(let value):
                self.write(byte: 0)
                self.write(value: value)
            case .reference(let reference):
                self.write(byte: 1)
                self.write(reference: reference)
            }
        }
    }

    package mutating func write(mutation: Mutation) {
        switch mutation {
        case .insert(let entity, let values, let placements):
            self.write(byte: 1)
            self.write(count: Int(entity.rawValue))
            self.write(assignments: values)
            self.write(count: placements.count)
            for placement in placements { self.write(placement: placement) }
        case .update(let object, let values):
            self.write(byte: 2)
            self.write(reference: object)
            self.write(assignments: values)
        case .move(let object, let placement):
            self.write(byte: 3)
            self.write(reference: object)
            self.write(placement: placement)
        case .delete(let object):
            self.write(byte: 4)
            self.write(reference: object)
        case .relate(let owner, let relationship, let object, let place):
            self.write(byte: 5)
            self.write(reference: owner)
            self.write(count: Int(relationship.rawValue))
            self.write(reference: object)
            self.write(place: place)
        case .unrelate(let owner, let relationship, let object):
            self.write(byte: 6)
            self.write(reference: owner)
            self.write(count: Int(relationship.rawValue))
            self.write(reference: object)
        case .setRelated(let owner, let relationship, let objects):
            self.write(byte: 7)
            self.write(reference: owner)
            self.write(count: Int(relationship.rawValue))
            self.write(count: objects.count)
            for object in objects { self.write(reference: object) }
        case .findOrCreate(let entity, let match, let values, let placements):
            self.write(byte: 8)
            self.write(count: Int(entity.rawValue))
            self.write(assignments: match)
            self.write(assignments: values)
            self.write(count: placements.count)
            for placement in placements { self.write(placement: placement) }
        case .insertAs(let id, let entity, let values, let placements):
            self.write(byte: 9)
            self.write(objectID: id)
            self.write(count: Int(entity.rawValue))
            self.write(assignments: values)
            self.write(count: placements.count)
            for placement in placements { self.write(placement: placement) }
        }
    }

    /// Writes the content of a transaction: name, preconditions and mutations, without its key.
    package mutating func write(transactionBody transaction: WriteTransaction) {
        self.write(string: transaction.name ?? "")
        self.write(count: transaction.preconditions.count)
        for precondition in transaction.preconditions {
            self.write(objectID: precondition.object)
            self.write(revision: precondition.revision)
        }
        self.write(count: transaction.mutations.count)
        for mutation in transaction.mutations { self.write(mutation: mutation) }
        guard let coalescing = transaction.coalescing else { return }
        self.write(string: coalescing.key)
        self.write(count: coalescing.milliseconds)
    }

    /// Writes the key: a zero byte, or a one and 16 bytes.
    package mutating func write(key: Identifier128?) {
        self.write(byte: key == nil ? 0 : 1)
        if let key { self.write(identifier: key) }
    }
}

extension ByteReader {
    package mutating func key() throws(DecodingFailure) -> Identifier128? {
        switch try self.byte("key") {
        case 0: return nil
        case 1: return try self.identifier("key")
        default: throw DecodingFailure(.invalidValue, "key")
        }
    }

    package mutating func place() throws(DecodingFailure) -> Place {
        switch try self.byte("place") {
        case 0: return .last
        case 1: return .first
        case 2: return .before(try self.reference("place before"))
        case 3: return .after(try self.reference("place after"))
        case 4: return .at(try self.index("place index"))
        case 5:
            let left = try self.referenceOrNone("place left")
            return .near(left: left, right: try self.referenceOrNone("place right"))
        default: throw DecodingFailure(.unsupported, "place")
        }
    }

    package mutating func placement() throws(DecodingFailure) -> Placement {
        Placement(
            relationship: try self.propertyNumber("placement relationship"),
            owner: try self.reference("placement owner"),
            place: try self.place()
        )
    }

    private mutating func assignments() throws(DecodingFailure) -> [PropertyAssignment] {
        var assignments: [PropertyAssignment] = []
        for _ in 0..<(try self.count("values", max: Limits.propertiesPerEntityMax, bytesEach: 3)) {
            let property = try self.propertyNumber("property")
            switch try self.byte("value kind") {
            case 0: assignments.append(PropertyAssignment(property, .value(try self.value("value"))))
            case 1: assignments.append(PropertyAssignment(property, .reference(try self.reference("value reference"))))
            default: throw DecodingFailure(.unsupported, "value kind")
            }
        }
        return assignments
    }

    private mutating func placements() throws(DecodingFailure) -> [Placement] {
        var placements: [Placement] = []
        for _ in 0..<(try self.count("placements", max: Limits.propertiesPerEntityMax, bytesEach: 3)) {
            placements.append(try self.placement())
        }
        return placements
    }

    package mutating func mutation() throws(DecodingFailure) -> Mutation {
        switch try self.byte("mutation") {
        case 1:
            let entity = try self.entityNumber("entity")
            return .insert(entity: entity, values: try self.assignments(), placements: try self.placements())
        case 2: return .update(try self.reference("object"), values: try self.assignments())
        case 3: return .move(try self.reference("object"), try self.placement())
        case 4: return .delete(try self.reference("object"))
        case 5:
            let owner = try self.reference("owner")
            let relationship = try self.propertyNumber("relationship")
            return .relate(owner, relationship, try self.reference("related object"), try self.place())
        case 6:
            let owner = try self.reference("owner")
            let relationship = try self.propertyNumber("relationship")
            return .unrelate(owner, relationship, try self.reference("related object"))
        case 7:
            let owner = try self.reference("owner")
            let relationship = try self.propertyNumber("relationship")
            var objects: [ObjectReference] = []
            for _ in 0..<(try self.count("related objects", max: Limits.relatedPerMutationMax)) {
                objects.append(try self.reference("related object"))
            }
            return .setRelated(owner, relationship, objects)
        case 8:
            let entity = try self.entityNumber("entity")
            let match = try self.assignments()
            let values = try self.assignments()
            return .findOrCreate(entity: entity, match: match, values: values, placements: try self.placements())
        case 9:
            let id = try self.objectID("object")
            let entity = try self.entityNumber("entity")
            return .insertAs(id, entity: entity, values: try self.assignments(), placements: try self.placements())
        default: throw DecodingFailure(.unsupported, "mutation")
        }
    }

    package mutating func transaction(key: Identifier128?) throws(DecodingFailure) -> WriteTransaction {
        let name = try self.string("name", max: Limits.nameBytesMax)
        var preconditions: [Precondition] = []
        for _ in 0..<(try self.count("preconditions", max: Limits.preconditionsPerTransactionMax, bytesEach: 2)) {
            preconditions.append(
                Precondition(
                    object: try self.objectID("precondition object"),
                    revision: try self.revision("precondition revision")
                )
            )
        }
        var mutations: [Mutation] = []
        for _ in 0..<(try self.count("mutations", max: Limits.mutationsPerTransactionMax, bytesEach: 2)) {
            mutations.append(try self.mutation())
        }
        return WriteTransaction(
            name: name.isEmpty ? nil : name,
            key: key,
            preconditions: preconditions,
            mutations: mutations,
            coalescing: self.isAtEnd ? nil : try self.coalescing()
        )
    }

    private mutating func coalescing() throws(DecodingFailure) -> Coalescing {
        let key = try self.string("coalescing key", max: Limits.coalesceKeyBytesMax)
        let milliseconds = try self.index("coalescing time")
        guard !key.isEmpty else { throw DecodingFailure(.invalidValue, "coalescing key") }
        guard milliseconds <= Limits.coalesceMillisecondsMax else { throw DecodingFailure(.limit, "coalescing time") }
        return Coalescing(key: key, milliseconds: milliseconds)
    }
}
