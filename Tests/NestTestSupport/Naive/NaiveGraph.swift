import NestModel

/// A naive object graph: every object with its values, and both sides of every relationship as lists of ids. It is
/// written from the contract, and the store's contents must equal it.
package struct NaiveGraph {
    package struct Object: Equatable {
        package var entity: EntityNumber
        package var values: [PropertyNumber: AttributeValue] = [:]
        /// The related objects by relationship, also for to-one relationships. In order if the relationship is ordered,
        /// otherwise ascending.
        package var related: [PropertyNumber: [ObjectID]] = [:]

        package init(entity: EntityNumber) {
            self.entity = entity
        }
    }

    package let model: ManagedObjectModel
    package var objects: [ObjectID: Object] = [:]

    package init(model: ManagedObjectModel) {
        self.model = model
    }

    /// Creates the graph of a new store, with the root objects and the defaults of their attributes.
    package init(newStoreOf model: ManagedObjectModel) {
        self.model = model
        for entity in model.entities {
            guard let root = entity.root else { continue }
            var object = self.blank(entity, time: 0)
            for attribute in entity.attributes {
                // The root's creation time is 0.
                if attribute.defaultsToNow { object.values[attribute.number] = attribute.isOptional ? .null : .date(0) }
                if object.values[attribute.number] == .null, !attribute.isOptional, attribute.type == .string {
                    object.values[attribute.number] = .string("")
                }
            }
            self.objects[root.object] = object
        }
    }

    // MARK: The model

    package func entity(_ number: EntityNumber) -> EntityDescription { self.model.entity(number)! }

    package func entity(of id: ObjectID) -> EntityDescription { self.entity(self.objects[id]!.entity) }

    package func isKind(_ number: EntityNumber, of ancestor: EntityNumber) -> Bool {
        var next: EntityNumber? = number
        while let current = next {
            if current == ancestor { return true }
            next = self.entity(current).parent
        }
        return false
    }

    package func top(_ number: EntityNumber) -> EntityNumber {
        var top = number
        while let parent = self.entity(top).parent { top = parent }
        return top
    }

    package func inverse(_ relationship: RelationshipDescription) -> RelationshipDescription {
        self.entity(relationship.destination).relationship(relationship.inverse)!
    }

    /// Returns the ids of the objects of an entity and its subentities, ascending.
    package func ids(of entity: EntityNumber) -> [ObjectID] {
        self.objects.filter { self.isKind($0.value.entity, of: entity) }.map(\.key).sorted()
    }

    package var roots: Set<ObjectID> { Set(self.model.entities.compactMap { $0.root?.object }) }

    // MARK: Objects

    static func kept(_ attribute: AttributeDescription, _ value: AttributeValue) -> AttributeValue {
        if case .kept(let kept) = NaiveValue(attribute, value) { kept } else { value }
    }

    /// Returns an object with its defaults and without related objects.
    func blank(_ entity: EntityDescription, time: Int64) -> Object {
        var object = Object(entity: entity.number)
        for attribute in entity.attributes {
            object.values[attribute.number] =
                attribute.defaultsToNow ? .date(time) : Self.kept(attribute, attribute.defaultValue)
        }
        for relationship in entity.relationships { object.related[relationship.number] = [] }
        return object
    }

    package func related(_ id: ObjectID, _ property: PropertyNumber) -> [ObjectID] {
        self.objects[id]?.related[property] ?? []
    }

    /// Returns the value of an attribute or the target of a to-one relationship.
    package func value(_ id: ObjectID, _ property: PropertyNumber) -> AttributeValue {
        if let value = self.objects[id]!.values[property] { return value }
        return self.related(id, property).first.map { .reference($0) } ?? .null
    }

    // MARK: Relating

    /// Relates two objects on both sides. A to-one side loses its previous object. The object is inserted at an index
    /// of the owner's list (`nil`: at the end), the owner at the end of the object's list.
    package mutating func link(
        _ owner: ObjectID,
        _ relationship: RelationshipDescription,
        _ object: ObjectID,
        at index: Int? = nil
    ) {
        let inverse = self.inverse(relationship)
        let isThere = self.related(owner, relationship.number).contains(object)
        if isThere, !relationship.isOrdered {
            // Move the owner in the ordered list of the inverse only if this side is to-one.
            if inverse.isOrdered, !relationship.isToMany { self.place(owner, among: object, inverse, at: nil) }
            return
        }
        if isThere { return self.place(object, among: owner, relationship, at: index) }
        if !relationship.isToMany {
            for old in self.related(owner, relationship.number) { self.unlink(owner, relationship, old) }
        }
        if !inverse.isToMany {
            for old in self.related(object, inverse.number) { self.unlink(object, inverse, old) }
        }
        self.place(object, among: owner, relationship, at: index)
        if !(inverse.number == relationship.number && owner == object) {
            self.place(owner, among: object, inverse, at: nil)
        }
    }

    package mutating func unlink(_ owner: ObjectID, _ relationship: RelationshipDescription, _ object: ObjectID) {
        self.objects[owner]!.related[relationship.number]!.removeAll { $0 == object }
        self.objects[object]!.related[self.inverse(relationship).number]!.removeAll { $0 == owner }
    }

    private mutating func place(
        _ object: ObjectID,
        among owner: ObjectID,
        _ relationship: RelationshipDescription,
        at index: Int?
    ) {
        var list = self.related(owner, relationship.number)
        list.removeAll { $0 == object }
        list.insert(object, at: index ?? list.count)
        self.objects[owner]!.related[relationship.number] = relationship.isOrdered ? list : list.sorted()
    }

    // MARK: Deleting

    package enum Deletion {
        case deleted(Set<ObjectID>)
        case denied
        case root
    }

    /// Applies the cascades completely and then checks the deny rules against the remaining objects.
    package mutating func delete(_ id: ObjectID) -> Deletion {
        var cascade: Set<ObjectID> = [id]
        var isGrowing = true
        while isGrowing {
            let before = cascade.count
            for object in cascade {
                for relationship in self.entity(of: object).relationships where relationship.deleteRule == .cascade {
                    cascade.formUnion(self.related(object, relationship.number))
                }
            }
            isGrowing = cascade.count > before
        }
        if !cascade.isDisjoint(with: self.roots) { return .root }
        for object in cascade {
            for relationship in self.entity(of: object).relationships where relationship.deleteRule == .deny {
                if !Set(self.related(object, relationship.number)).isSubset(of: cascade) { return .denied }
            }
        }
        for object in cascade { self.remove(object) }
        return .deleted(cascade)
    }

    /// Removes an object and all references to it.
    package mutating func remove(_ id: ObjectID) {
        for relationship in self.entity(of: id).relationships {
            for other in self.related(id, relationship.number) { self.unlink(id, relationship, other) }
        }
        self.objects[id] = nil
    }

    // MARK: Renaming

    /// Returns the graph with other ids, whose order must be the same.
    package func renamed(_ ids: [ObjectID: ObjectID]) -> NaiveGraph {
        var renamed = NaiveGraph(model: self.model)
        for (id, object) in self.objects {
            var object = object
            for (property, list) in object.related { object.related[property] = list.map { ids[$0] ?? $0 } }
            renamed.objects[ids[id] ?? id] = object
        }
        return renamed
    }
}
