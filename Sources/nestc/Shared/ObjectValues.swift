import NestDocuments
import NestModel

/// The values of one object, from a command line or a line of JSON.
struct ObjectValues {
    /// Attributes and to-one relationships.
    var assignments: [PropertyAssignment] = []
    /// To-many relationships, each with its new objects in their order.
    var related: [(relationship: PropertyNumber, objects: [ObjectReference])] = []

    /// Reads `name=value` and `name:=null`. For a to-many relationship: `name=3,4,5`, or `name=` for no objects.
    init(_ arguments: [String], _ entity: EntityDescription) throws {
        for argument in arguments {
            guard let equals = argument.firstIndex(of: "=") else {
                throw CommandFailure(.usage, "'\(argument)' is not name=value")
            }
            var name = argument[..<equals]
            let text = String(argument[argument.index(after: equals)...])
            let isNull = name.hasSuffix(":")
            if isNull { name = name.dropLast() }
            guard !isNull || text == "null" else { throw CommandFailure(.usage, "':=' takes only null") }
            let property = try entity.requireProperty(String(name))
            if let attribute = entity.attribute(property) {
                let value = isNull ? .null : try ValueText.value(text, for: attribute, dates: .local)
                self.assignments.append(PropertyAssignment(property, .value(value)))
            } else if isNull || (text.isEmpty && entity.isToMany(property)) {
                self.clear(property, entity)
            } else {
                let references = try text.split(separator: ",", omittingEmptySubsequences: false).map {
                    try Self.reference(String($0), String(name))
                }
                try self.relate(property, references, entity)
            }
        }
    }

    /// Reads the members of a JSON object. `reference` returns the object that a JSON value names.
    init(
        _ members: [JSONElement.Member],
        _ entity: EntityDescription,
        reference: (JSONElement, String) throws -> ObjectReference = Self.reference
    ) throws {
        for member in members {
            let (name, value) = (member.name, member.value)
            let property = try entity.requireProperty(name)
            if let attribute = entity.attribute(property) {
                self.assignments.append(
                    PropertyAssignment(property, .value(try ValueText.value(value, for: attribute)))
                )
                continue
            }
            switch value {
            case .null: self.clear(property, entity)
            case .array(let elements):
                guard entity.isToMany(property) else {
                    throw CommandFailure(.usage, "\(name) is a to-one relationship: it takes one id, not an array")
                }
                self.related.append((property, try elements.map { try reference($0, name) }))
            default: try self.relate(property, [try reference(value, name)], entity)
            }
        }
    }

    /// Assigns the owner that the user left out, if there is one.
    mutating func complete(with owner: PropertyAssignment?) {
        guard let owner, !self.assignments.contains(where: { $0.property == owner.property }) else { return }
        self.assignments.append(owner)
    }

    private mutating func clear(_ property: PropertyNumber, _ entity: EntityDescription) {
        if entity.isToMany(property) {
            self.related.append((property, []))
        } else {
            self.assignments.append(PropertyAssignment(property, .value(.null)))
        }
    }

    private mutating func relate(
        _ property: PropertyNumber,
        _ references: [ObjectReference],
        _ entity: EntityDescription
    ) throws {
        if entity.isToMany(property) {
            self.related.append((property, references))
        } else {
            guard references.count == 1 else {
                let name = entity.shownName(property)
                throw CommandFailure(.usage, "\(name) is a to-one relationship: it takes one id")
            }
            self.assignments.append(PropertyAssignment(property, .reference(references[0])))
        }
    }

    private static func reference(_ text: String, _ name: String) throws -> ObjectReference {
        guard let target = IDArgument(argument: text) else {
            throw CommandFailure(.usage, "\(name) must be the id of an object, not '\(text)'")
        }
        return .object(target.id)
    }

    /// Returns the object with the id in a JSON value.
    static func reference(_ json: JSONElement, _ name: String) throws -> ObjectReference {
        guard case .number(let digits) = json, let target = IDArgument(argument: digits) else {
            throw CommandFailure(.usage, "\(name) must be the id of an object, not \(json.typeName)")
        }
        return .object(target.id)
    }

    /// Returns the steps that set the to-many relationships of an object.
    func relatingSteps(of object: ObjectReference) -> [Mutation] {
        self.related.map { .setRelated(object, $0.relationship, $0.objects) }
    }

    /// Returns the steps that assign these values to an existing object.
    func updatingSteps(of object: ObjectReference) -> [Mutation] {
        (self.assignments.isEmpty ? [] : [.update(object, values: self.assignments)]) + self.relatingSteps(of: object)
    }

    /// Removes the assignment of the to-one relationship whose inverse is ordered, and returns it as a placement.
    /// `name` specifies the relationship if there are several.
    mutating func takePlacement(
        at place: Place,
        in name: String?,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws -> Placement {
        let wanted = try name.map { try entity.requireProperty($0) }
        let candidates = self.assignments.indices.filter { index in
            let assignment = self.assignments[index]
            guard wanted == nil || assignment.property == wanted, case .reference = assignment.value,
                let relationship = entity.relationship(assignment.property)
            else { return false }
            return model.inverse(of: relationship)?.isOrdered ?? false
        }
        guard candidates.count == 1, case .reference(let owner) = self.assignments[candidates[0]].value else {
            let names = candidates.map { entity.shownName(self.assignments[$0].property) }
            throw CommandFailure(
                .usage,
                names.isEmpty
                    ? "a position needs an owner: set a relationship whose inverse is ordered, like 'parent=1'"
                    : "the position may be in \(names.joined(separator: " or ")): specify one with --in"
            )
        }
        let relationship = self.assignments.remove(at: candidates[0]).property
        return Placement(relationship: relationship, owner: owner, place: place)
    }
}

extension EntityDescription {
    func isToMany(_ property: PropertyNumber) -> Bool { self.relationship(property)?.isToMany ?? false }
}
