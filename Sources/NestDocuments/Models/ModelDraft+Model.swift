import NestModel

/// Turns a model, whose parts have numbers, back into a draft, whose parts have names.
extension ModelDraft {
    /// Creates the draft of a model. Compiling it makes the same model again, except for numbers that a store has
    /// assigned differently.
    public init(_ model: ManagedObjectModel) {
        self.init(
            entities: model.entities.map { EntityDraft($0, in: model) },
            requests: model.requests.map { RequestDraft($0, in: model) }
        )
    }
}

extension RequestDraft {
    fileprivate init(_ request: RequestDescription, in model: ManagedObjectModel) {
        let source = request.source.flatMap { model.entity($0)?.name }
        let prefix = source.map { "\($0)." } ?? ""
        let name = request.name.hasPrefix(prefix) ? String(request.name.dropFirst(prefix.count)) : request.name
        self.init(name: name, source: source, entity: model.entity(request.entity)?.name ?? "")
        self.predicate = request.predicate
        self.sort = request.sort
    }
}

extension EntityDraft {
    fileprivate init(_ entity: EntityDescription, in model: ManagedObjectModel) {
        self.init(name: entity.name)
        let parent = entity.parent.flatMap { model.entity($0) }
        let names = { (properties: [PropertyNumber]) in properties.compactMap { entity.propertyName($0) } }
        self.parent = parent?.name
        self.isAbstract = entity.isAbstract
        self.attributes = entity.attributes.filter { parent?.attribute($0.number) == nil }.map { AttributeDraft($0) }
        // Compiling the draft adds the hidden inverses again.
        self.relationships = entity.relationships
            .filter { parent?.relationship($0.number) == nil && !$0.isHiddenInverse }
            .map { RelationshipDraft($0, in: model) }
        // Inherited constraints and indexes are first.
        self.uniquenessConstraints = entity.uniquenessConstraints
            .dropFirst(parent?.uniquenessConstraints.count ?? 0).map(names)
        self.indexes = entity.indexes.dropFirst(parent?.indexes.count ?? 0).map(names)
        if entity.label != parent?.label { self.label = entity.label.flatMap { entity.propertyName($0) } }
        self.root = entity.root.flatMap { root in
            entity.propertyName(root.relationship).map { (relationship: $0, object: root.object) }
        }
        self.renamedFrom = entity.renamedFrom
    }
}

extension AttributeDraft {
    fileprivate init(_ attribute: AttributeDescription) {
        self.init(name: attribute.name, type: attribute.type)
        self.isOptional = attribute.isOptional
        self.defaultValue = attribute.defaultValue
        self.defaultsToNow = attribute.defaultsToNow
        self.minimum = attribute.minimum
        self.maximum = attribute.maximum
        self.pattern = attribute.pattern
        self.renamedFrom = attribute.renamedFrom
    }
}

extension RelationshipDraft {
    fileprivate init(_ relationship: RelationshipDescription, in model: ManagedObjectModel) {
        self.init(
            name: relationship.name,
            destination: model.entity(relationship.destination)?.name ?? "",
            inverse: model.isOneWay(relationship) ? "" : model.inverse(of: relationship)?.name ?? ""
        )
        self.isToMany = relationship.isToMany
        self.isOrdered = relationship.isOrdered
        self.isOptional = relationship.isOptional
        self.deleteRule = relationship.deleteRule
        self.minimumCount = relationship.minimumCount
        self.maximumCount = relationship.maximumCount
        self.renamedFrom = relationship.renamedFrom
    }
}
