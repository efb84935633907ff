import NestModel

/// Names of what `NestClient.object` returns.
extension ObjectDetail {
    /// The name of the object's entity; `nil` if the model has it no more.
    public func entityName(in model: ManagedObjectModel) -> String? { model.entity(self.entity)?.name }

    /// Returns the value of an attribute, or the object of a to-one relationship. Throws `unknownProperty`.
    public func value(_ name: String, in model: ManagedObjectModel) throws(NestError) -> AttributeValue {
        let number = try self.property(name, in: model)
        guard let value = self.values.first(where: { $0.property == number })?.value else {
            throw NestError(.invalid, "'\(name)' leads to many objects: ask for their number with count")
        }
        return value
    }

    /// Returns the number of objects in a to-many relationship. Throws `unknownProperty`.
    public func count(_ name: String, in model: ManagedObjectModel) throws(NestError) -> Int {
        let number = try self.property(name, in: model)
        guard let count = self.counts.first(where: { $0.property == number })?.count else {
            throw NestError(.invalid, "'\(name)' is no to-many relationship")
        }
        return count
    }

    private func property(_ name: String, in model: ManagedObjectModel) throws(NestError) -> PropertyNumber {
        guard let description = model.entity(self.entity) else {
            throw NestError(.unknownEntity, "the model has no entity number \(self.entity.rawValue)")
        }
        return try NamedEntity(description, in: model).property(name)
    }
}

/// Names of what `NestClient.withChanges` reports.
extension ChangedObject {
    /// The name of the object's entity; `nil` if the model has it no more.
    public func entityName(in model: ManagedObjectModel) -> String? { model.entity(self.entity)?.name }

    /// The names of the changed properties, without those that the model has no more.
    public func propertyNames(in model: ManagedObjectModel) -> [String] {
        let entity = model.entity(self.entity)
        return self.properties.compactMap { entity?.propertyName($0) }
    }
}
