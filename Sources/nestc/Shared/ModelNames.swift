import NestClient
import NestModel

/// Finds entities and properties by the names that users type and see.
extension ManagedObjectModel {
    /// Returns the entity of this name.
    func requireEntity(_ name: String) throws -> EntityDescription {
        if let entity = self.entity(named: name) { return entity }
        let near = self.entities.first { $0.name.lowercased() == name.lowercased() }
        let hint = near.map { "did you mean \($0.name)?" } ?? "it has \(listed(self.entities.map(\.name)))"
        throw CommandFailure(.usage, "the server's model has no entity '\(name)'; \(hint)")
    }

    /// Returns the entity of this name. Throws if it is abstract.
    func requireConcreteEntity(_ name: String) throws -> EntityDescription {
        let entity = try self.requireEntity(name)
        guard entity.isAbstract else { return entity }
        let kinds = self.kinds(of: entity.number).filter { !$0.isAbstract }.map(\.name)
        throw CommandFailure(.usage, "\(name) is abstract; use one of \(listed(kinds))")
    }

    /// Returns the entity of an object.
    func entity(of object: ObjectDetail) throws -> EntityDescription {
        guard let entity = self.entity(object.entity) else {
            throw CommandFailure(.protocolMismatch, "the model has no entity \(object.entity.rawValue)")
        }
        return entity
    }
}

extension EntityDescription {
    /// The names of an object's own fields. A property with one of these names gets an underscore.
    private static let taken = ["id", "entity", "revision"]

    /// The fields of the rows of outlines.
    private static let takenInOutlines = ["depth", "children", "expanded"]

    /// Returns the name of a property in the output. Rows in sections also have a field "section", those of outlines
    /// "depth", "children" and "expanded".
    func shownName(_ property: PropertyNumber, isSectioned: Bool = false, isOutline: Bool = false) -> String {
        if property == .entity { return "entity" }
        guard var name = self.propertyName(property) else { return "\(property.rawValue)" }
        let isTaken =
            Self.taken.contains(name) || isSectioned && name == "section"
            || isOutline && Self.takenInOutlines.contains(name)
        guard isTaken else { return name }
        repeat { name += "_" } while self.propertyNumber(named: name) != nil
        return name
    }

    /// Returns the property of this name, as in the model or as in the output.
    func requireProperty(_ name: String) throws -> PropertyNumber {
        if let property = self.propertyNumber(named: name) { return property }
        for taken in Self.taken {
            if let property = self.propertyNumber(named: taken), self.shownName(property) == name { return property }
        }
        if Self.taken.contains(name) {
            throw CommandFailure(.usage, "\(self.name) has no property '\(name)'; the server assigns the \(name)")
        }
        throw CommandFailure(.usage, "\(self.name) has no '\(name)'; it has \(listed(self.shownNames))")
    }

    /// Returns the to-many relationship of this name.
    func requireToMany(_ name: String) throws -> RelationshipDescription {
        let property = try self.requireProperty(name)
        guard let relationship = self.relationship(property) else {
            throw CommandFailure(.usage, "\(self.name).\(name) is an attribute; \(self.toManyHint)")
        }
        guard relationship.isToMany else {
            throw CommandFailure(
                .usage,
                "\(self.name).\(name) is a to-one relationship; set it with 'nestc set ID \(name)=ID'"
            )
        }
        return relationship
    }

    /// Returns the to-many relationship to use if none is specified: the outline's children, or the only one.
    func defaultToMany() throws -> RelationshipDescription {
        let toMany = self.relationships.filter { $0.isToMany && !$0.isHiddenInverse }
        if let children = toMany.first(where: { Outline.isChildren($0, of: self) }) { return children }
        guard toMany.count == 1 else {
            throw CommandFailure(.usage, "specify --relationship: \(self.toManyHint)")
        }
        return toMany[0]
    }

    private var toManyHint: String {
        let names = self.relationships.filter { $0.isToMany && !$0.isHiddenInverse }.map { self.shownName($0.number) }
        return names.isEmpty
            ? "\(self.name) has no to-many relationship" : "its to-many relationships are \(listed(names))"
    }

    /// Attributes and relationships.
    private var shownNames: [String] {
        (self.attributes.map(\.number) + self.relationships.filter { !$0.isHiddenInverse }.map(\.number)).sorted().map {
            self.shownName($0)
        }
    }
}

/// Returns `a, b, c`, with at most 20 names.
func listed(_ names: [String]) -> String {
    names.isEmpty ? "none" : names.prefix(20).joined(separator: ", ") + (names.count > 20 ? ", …" : "")
}
