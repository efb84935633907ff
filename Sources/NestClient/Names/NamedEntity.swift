import NestModel

extension NestClient {
    /// Returns the entity of this name in the server's model.
    public func entity(_ name: String) async throws(NestError) -> NamedEntity {
        try NamedEntity(named: name, in: try await self.model())
    }
}

/// An entity with its model, for requests and changes that are written by name, without generated code.
///
///     let user = try await client.entity("User")
///     let ann = try context.insert(user, ["name": "Ann", "born": Date.now])
///     let users = try user.request(where: "name CONTAINS[c] \(FetchPredicate.quoted(typed))", sort: "name:c")
///     for row in try await client.fetch(users) { print(row.text("name")) }
///
/// Names are looked up when they are used. A name that the entity does not have causes the error `unknownProperty`.
public struct NamedEntity: Sendable {
    public let description: EntityDescription
    public let model: ManagedObjectModel

    public init(_ description: EntityDescription, in model: ManagedObjectModel) {
        self.description = description
        self.model = model
    }

    init(named name: String, in model: ManagedObjectModel) throws(NestError) {
        guard let description = model.entity(named: name) else {
            let names = model.entities.map(\.name).joined(separator: ", ")
            throw NestError(.unknownEntity, "the model has no entity '\(name)'; it has \(names)")
        }
        self.init(description, in: model)
    }

    public var number: EntityNumber { self.description.number }

    /// Returns the number of an attribute or relationship.
    public func property(_ name: String) throws(NestError) -> PropertyNumber {
        guard let property = self.description.propertyNumber(named: name) else {
            let names = self.description.attributes.map(\.name) + self.description.relationships.map(\.name)
            let hint = NearestName.hint(name, among: names)
            throw NestError(.unknownProperty, "\(self.description.name) has no '\(name)'\(hint)")
        }
        return property
    }

    /// Returns the number of a relationship.
    func relationship(_ name: String, isToMany: Bool) throws(NestError) -> PropertyNumber {
        let number = try self.property(name)
        guard self.description.relationship(number)?.isToMany == isToMany else {
            let kind = isToMany ? "to-many" : "to-one"
            throw NestError(.invalid, "\(self.description.name)'s '\(name)' is no \(kind) relationship")
        }
        return number
    }

    /// Returns a place under an owner, for an object of this entity.
    ///
    /// `relationship` is the to-one relationship to the owner. `nil`: that of the entity's tree, or else the only one
    /// whose other side is ordered, or else the only one. Throws `invalid` if that leaves a choice.
    public func placement(
        _ place: Place = .last,
        under owner: some ObjectReferring,
        by relationship: String? = nil
    ) throws(NestError) -> Placement {
        let number: PropertyNumber
        if let relationship {
            number = try self.relationship(relationship, isToMany: false)
        } else {
            number = try self.owningRelationship()
        }
        return Placement(relationship: number, owner: owner.objectReference, place: place)
    }

    private func owningRelationship() throws(NestError) -> PropertyNumber {
        if let root = self.description.root { return root.relationship }
        let candidates = self.description.relationships.filter { !$0.isToMany }
        let ordered = candidates.filter {
            self.model.entity($0.destination)?.relationship($0.inverse)?.isOrdered == true
        }
        let meant = ordered.isEmpty ? candidates : ordered
        guard let only = meant.first, meant.count == 1 else {
            let names = meant.map(\.name).joined(separator: ", ")
            throw NestError(
                .invalid,
                meant.isEmpty
                    ? "\(self.description.name) has no to-one relationship to an owner"
                    : "\(self.description.name) has several to-one relationships: name one of \(names)"
            )
        }
        return only.number
    }

    /// Converts values that are given by name. The value of a to-one relationship is an object. A whole number may be
    /// the value of a double or of a decimal.
    public func values(
        _ values: KeyValuePairs<String, any MutationValueConvertible>
    ) throws(NestError) -> [PropertyAssignment] {
        var assignments: [PropertyAssignment] = []
        for (name, value) in values { assignments.append(try self.assignment(name, value)) }
        return assignments
    }

    func assignment(
        _ name: String,
        _ value: any MutationValueConvertible
    ) throws(NestError) -> PropertyAssignment {
        let property = try self.property(name)
        let value = try value.mutationValue
        guard case .value(.integer(let number)) = value else { return PropertyAssignment(property, value) }
        switch self.description.attribute(property)?.type {
        case .double, .float: return PropertyAssignment(property, .value(.double(Double(number))))
        case .decimal: return PropertyAssignment(property, .value(.string("\(number)")))
        default: return PropertyAssignment(property, value)
        }
    }

    /// Returns a fetch request from texts like those of `nestc fetch --where`, `--sort`, `--section`, `--properties`
    /// and `--totals`.
    ///
    /// `sort` is a text like `"name:c,-createdAt"`. If it is empty, the order is that of `section`, or by id.
    /// `properties` are attributes, to-one relationships, and paths like `user.name`, `phones.@count` or
    /// `phones.@sum.minutes`. If there are none, the rows have all stored properties. `totals` is a text like
    /// `"count,sum(minutes)"`.
    public func request(
        where predicate: String = "",
        sort: String = "",
        section: String = "",
        properties: [String] = [],
        totals: String = "",
        window: FetchWindow? = nil
    ) throws -> NamedRequest {
        var request = ObjectFetchRequest(entity: self.number, window: window)
        if !predicate.isEmpty {
            request.predicate = try FetchPredicate(predicate, of: self.description, in: self.model)
        }
        if !sort.isEmpty { request.sort = try [OrderingTerm](sort, of: self.description, in: self.model) }
        if !section.isEmpty {
            let key = try SectionKey(section, of: self.description, in: self.model)
            request.section = key
            if sort.isEmpty { request.sort = [OrderingTerm(key: .path(key.path))] }
        }
        if !totals.isEmpty { request.totals = try [FetchTotal](totals, of: self.description, in: self.model) }
        for name in properties {
            guard name.contains(".") else {
                request.projection.append(try self.property(name))
                continue
            }
            request.projection.append(.computed(request.columns.count))
            request.columns.append(try PropertyPath(name, of: self.description, in: self.model))
        }
        return NamedRequest(request, of: self)
    }
}
