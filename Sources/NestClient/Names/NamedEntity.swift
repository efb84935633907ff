import NestModel

extension NestClient {
    /// Returns the entity of this name in the server's model.
    public func entity(_ name: String) async throws(NestError) -> NamedEntity {
        let model = try await self.model()
        guard let description = model.entity(named: name) else {
            let names = model.entities.map(\.name).joined(separator: ", ")
            throw NestError(.unknownEntity, "the model has no entity '\(name)'; it has \(names)")
        }
        return NamedEntity(description, in: model)
    }
}

/// An entity with its model, for requests and changes that are written by name, without generated code.
///
///     let user = try await client.entity("User")
///     let ann = try context.insert(user, ["name": "Ann", "born": AttributeValue.date(0)])
///     let users = try user.request(where: "name CONTAINS[c] \(FetchPredicate.quoted(typed))", sort: "name:c")
///     try await client.withFetchedResults(users.request) { results in … users["name", row] … }
///
/// Names are looked up when they are used. A name that the entity does not have causes the error `unknownProperty`.
public struct NamedEntity: Sendable {
    public let description: EntityDescription
    public let model: ManagedObjectModel

    public init(_ description: EntityDescription, in model: ManagedObjectModel) {
        self.description = description
        self.model = model
    }

    public var number: EntityNumber { self.description.number }

    /// Returns the number of an attribute or relationship.
    public func property(_ name: String) throws(NestError) -> PropertyNumber {
        guard let property = self.description.propertyNumber(named: name) else {
            throw NestError(.unknownProperty, "\(self.description.name) has no '\(name)'")
        }
        return property
    }

    /// Converts values that are given by name. The value of a to-one relationship is an object. A whole number may be
    /// the value of a double.
    public func values(
        _ values: KeyValuePairs<String, any MutationValueConvertible>
    ) throws(NestError) -> [PropertyAssignment] {
        var assignments: [PropertyAssignment] = []
        for (name, value) in values {
            let property = try self.property(name)
            var value = value.mutationValue
            if case .value(.integer(let number)) = value,
                [.double, .float].contains(self.description.attribute(property)?.type)
            {
                value = .value(.double(Double(number)))
            }
            assignments.append(PropertyAssignment(property, value))
        }
        return assignments
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
