import NestModel

extension ObjectGraph {
    /// What a request sets, as values by slot and places by place. Every fault is collected, so that a refusal names all
    /// that is wrong.
    struct Assignments {
        var values: [(slot: Int, value: AttributeValue)] = []
        var placements: [(place: Int, owner: ObjectID, at: Place)] = []
    }

    func assignments(
        _ layout: EntityLayout,
        values: [PropertyAssignment],
        placements: [Placement] = []
    ) throws -> Assignments {
        var result = Assignments()
        var faults: [String] = []
        var code = ErrorCode.validationFailed
        // A bit for each slot: a model's entity has at most 64 properties.
        var assigned: UInt64 = 0
        func isFirst(_ slot: Int) -> Bool {
            defer { assigned |= 1 << UInt64(slot) }
            return assigned & 1 << UInt64(slot) == 0
        }
        let entity = layout.name
        for assignment in values {
            guard let slot = layout.slot(of: assignment.property) else {
                code = .unknownProperty
                let name = layout.entity.propertyName(assignment.property)
                faults.append(
                    name.map { "\(entity).\($0) is to-many: set the other side" }
                        ?? "\(entity) has no property number \(assignment.property.rawValue)"
                )
                continue
            }
            if !isFirst(slot) { faults.append("\(self.name(layout, slot)) is set twice") }
            switch layout.slots[slot] {
            case .attribute(let attribute):
                if let value = self.attributeValue(attribute, assignment.value, entity, &faults, &code) {
                    result.values.append((slot, value))
                }
            case .toOne(let relationship, let place):
                guard let owner = try self.relationshipValue(relationship, assignment.value, entity, &faults) else {
                    continue
                }
                if let place, let id = owner.referenceValue {
                    result.placements.append((place, id, .last))
                } else {
                    result.values.append((slot, owner))
                }
            }
        }
        for placement in placements {
            guard let slot = layout.slot(of: placement.relationship),
                case .toOne(let relationship, let place?) = layout.slots[slot]
            else {
                code = .unknownProperty
                faults.append(
                    "\(entity) has no ordered relationship number \(placement.relationship.rawValue) to be placed in"
                )
                continue
            }
            if !isFirst(slot) { faults.append("\(self.name(layout, slot)) is set twice") }
            let owner = try self.resolve(placement.owner)
            if try self.isObject(owner, of: relationship.destination) {
                result.placements.append((place, owner, placement.place))
            } else {
                faults.append(try self.missing(owner, relationship, entity))
            }
        }
        guard faults.isEmpty else { throw Self.refusal(code, faults) }
        return result
    }

    private func attributeValue(
        _ attribute: AttributeDescription,
        _ assigned: MutationValue,
        _ entity: String,
        _ faults: inout [String],
        _ code: inout ErrorCode
    ) -> AttributeValue? {
        guard case .value(let value) = assigned else {
            faults.append("\(entity).\(attribute.name) is an attribute, not a relationship")
            return nil
        }
        if value.isNull {
            if !attribute.isOptional { faults.append("\(entity).\(attribute.name) is required") }
        } else if !attribute.type.admits(value) {
            faults.append("\(entity).\(attribute.name) is \(attribute.type), not \(value.typeName)")
        } else if Self.byteCount(value) > Limits.valueBytesMax {
            code = .valueTooLarge
            faults.append(
                "\(entity).\(attribute.name) has \(Self.byteCount(value)) bytes; at most \(Limits.valueBytesMax) are allowed"
            )
        } else if case .string(var text) = value, text.withUTF8({ $0.contains(0) }) {
            code = .invalidText
            faults.append("\(entity).\(attribute.name) holds a NUL character")
        } else if case .double(let number) = value, number.isNaN {
            faults.append("\(entity).\(attribute.name) is not a number")
        }
        return value
    }

    /// `.null` or the id of an existing object of the right entity; `nil` when that is not what was given.
    private func relationshipValue(
        _ relationship: RelationshipDescription,
        _ assigned: MutationValue,
        _ entity: String,
        _ faults: inout [String]
    ) throws -> AttributeValue? {
        let target: ObjectID
        switch assigned {
        case .value(.null):
            if !relationship.isOptional { faults.append("\(entity).\(relationship.name) is required") }
            return .null
        case .value(.reference(let id)):
            target = id
        case .reference(let reference):
            target = try self.resolve(reference)
        case .value(let value):
            faults.append("\(entity).\(relationship.name) is a relationship, not \(value.typeName)")
            return nil
        }
        guard try self.isObject(target, of: relationship.destination) else {
            faults.append(try self.missing(target, relationship, entity))
            return nil
        }
        return .reference(target)
    }

    private func isObject(_ id: ObjectID, of entity: EntityNumber) throws -> Bool {
        try self.table(entity).exists(id)
    }

    private func missing(_ id: ObjectID, _ relationship: RelationshipDescription, _ entity: String) throws -> String {
        guard let found = try self.find(id) else {
            // A missing destination alone is the answer "not found", which clients tell from a wrong value.
            throw Self.notFound(id)
        }
        return "\(entity).\(relationship.name): the object \(id) is of entity \(found.table.layout.name)"
    }

    private func name(_ layout: EntityLayout, _ slot: Int) -> String {
        "\(layout.name).\(layout.entity.propertyName(layout.properties[slot]) ?? "")"
    }

    static func byteCount(_ value: AttributeValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        default: 0
        }
    }

    static func refusal(_ code: ErrorCode, _ faults: [String]) -> NestError {
        var listed = faults.prefix(Limits.faultsPerErrorMax).joined(separator: "; ")
        if faults.count > Limits.faultsPerErrorMax {
            listed += "; and \(faults.count - Limits.faultsPerErrorMax) more"
        }
        return NestError(code, listed)
    }
}
