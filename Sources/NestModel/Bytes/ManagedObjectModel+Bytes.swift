/// The byte form of a model.
extension ByteWriter {
    /// Writes the byte form of a model: entities and properties ascending by number, then what later versions added, if
    /// the model has any of it.
    package mutating func write(model: ManagedObjectModel) {
        self.write(count: model.entities.count)
        for entity in model.entities { self.write(entity: entity) }
        let patterns = model.patterns
        guard !patterns.isEmpty || !model.requests.isEmpty else { return }
        self.write(count: patterns.count)
        for (entity, attribute, pattern) in patterns {
            self.write(count: Int(entity.rawValue))
            self.write(count: Int(attribute.rawValue))
            self.write(string: pattern)
        }
        self.write(count: model.requests.count)
        for request in model.requests {
            self.write(string: request.name)
            self.write(count: Int(request.source?.rawValue ?? 0))
            self.write(count: Int(request.entity.rawValue))
            self.write(string: request.predicate)
            self.write(string: request.sort)
        }
    }

    private mutating func write(entity: EntityDescription) {
        self.write(count: Int(entity.number.rawValue))
        self.write(string: entity.name)
        self.write(count: Int(entity.parent?.rawValue ?? 0))
        self.write(byte: entity.isAbstract ? 1 : 0)
        self.write(count: entity.attributes.count)
        for attribute in entity.attributes {
            self.write(count: Int(attribute.number.rawValue))
            self.write(string: attribute.name)
            self.write(byte: attribute.type.rawValue)
            self.write(byte: (attribute.isOptional ? 1 : 0) | (attribute.defaultsToNow ? 2 : 0))
            self.write(value: attribute.defaultValue)
            self.write(value: attribute.minimum)
            self.write(value: attribute.maximum)
        }
        self.write(count: entity.relationships.count)
        for relationship in entity.relationships {
            self.write(count: Int(relationship.number.rawValue))
            self.write(string: relationship.name)
            self.write(count: Int(relationship.destination.rawValue))
            self.write(count: Int(relationship.inverse.rawValue))
            let flags =
                (relationship.isToMany ? 1 : 0) | (relationship.isOrdered ? 2 : 0) | (relationship.isOptional ? 4 : 0)
            self.write(byte: UInt8(flags))
            self.write(byte: relationship.deleteRule.rawValue)
            self.write(count: relationship.minimumCount)
            self.write(count: relationship.maximumCount)
            self.write(count: Int(relationship.join?.rawValue ?? 0))
        }
        for lists in [entity.uniquenessConstraints, entity.indexes] {
            self.write(count: lists.count)
            for properties in lists { self.write(properties: properties) }
        }
        self.write(count: Int(entity.label?.rawValue ?? 0))
        self.write(count: entity.root == nil ? 0 : 1)
        if let root = entity.root {
            self.write(objectID: root.object)
            self.write(count: Int(root.relationship.rawValue))
        }
    }
}

extension ByteReader {
    package mutating func entityNumber(_ field: StaticString) throws(DecodingFailure) -> EntityNumber {
        EntityNumber(try self.number(field))
    }

    package mutating func propertyNumber(_ field: StaticString) throws(DecodingFailure) -> PropertyNumber {
        PropertyNumber(try self.number(field))
    }

    private mutating func number(_ field: StaticString) throws(DecodingFailure) -> UInt16 {
        guard let value = UInt16(exactly: try self.varint(field)) else {
            throw DecodingFailure(.outOfRange, "\(field)")
        }
        return value
    }

    package mutating func model() throws(DecodingFailure) -> ManagedObjectModel {
        var entities: [EntityDescription] = []
        for _ in 0..<(try self.count("entities", max: Limits.entitiesPerModelMax, bytesEach: 10)) {
            entities.append(try self.entity())
        }
        // A model of an earlier version ends here.
        guard self.remaining > 0 else { return ManagedObjectModel(entities: entities) }
        for _ in 0..<(try self.count("patterns", max: Limits.patternsPerModelMax, bytesEach: 3)) {
            let entity = try self.entityNumber("pattern entity")
            let attribute = try self.propertyNumber("pattern attribute")
            let pattern = try self.string("pattern", max: Limits.patternBytesMax)
            guard let index = entities.firstIndex(where: { $0.number == entity }) else {
                throw DecodingFailure(.invalidValue, "pattern entity")
            }
            entities[index].setPattern(pattern, of: attribute)
        }
        var requests: [RequestDescription] = []
        for _ in 0..<(try self.count("requests", max: Limits.requestsPerModelMax, bytesEach: 5)) {
            requests.append(try self.request())
        }
        return ManagedObjectModel(entities: entities, requests: requests)
    }

    private mutating func request() throws(DecodingFailure) -> RequestDescription {
        let name = try self.string("request name", max: Limits.nameBytesMax)
        let source = try self.entityNumber("request source")
        return RequestDescription(
            name: name,
            source: source.rawValue == 0 ? nil : source,
            entity: try self.entityNumber("request entity"),
            predicate: try self.string("request predicate", max: Limits.predicateTextBytesMax),
            sort: try self.string("request sort", max: Limits.predicateTextBytesMax)
        )
    }

    private mutating func entity() throws(DecodingFailure) -> EntityDescription {
        let number = try self.entityNumber("entity number")
        let name = try self.string("entity name", max: Limits.nameBytesMax)
        let parent = try self.entityNumber("entity parent").rawValue
        let flags = try self.byte("entity flags")
        var attributes: [AttributeDescription] = []
        for _ in 0..<(try self.count("attributes", max: Limits.propertiesPerEntityMax, bytesEach: 7)) {
            attributes.append(try self.attribute())
        }
        var relationships: [RelationshipDescription] = []
        for _ in 0..<(try self.count("relationships", max: Limits.propertiesPerEntityMax, bytesEach: 9)) {
            relationships.append(try self.relationship())
        }
        var lists: [[[UInt16]]] = []
        for _ in 0..<2 {
            var list: [[UInt16]] = []
            for _ in 0..<(try self.count("indexes", max: Limits.propertiesPerEntityMax)) {
                list.append(try self.properties().map(\.rawValue))
            }
            lists.append(list)
        }
        let label = try self.propertyNumber("label").rawValue
        var root: RootDescription?
        if try self.count("root", max: 1) == 1 {
            root = RootDescription(
                object: try self.objectID("root object"),
                relationship: try self.propertyNumber("root relationship")
            )
        }
        return EntityDescription(
            number: number.rawValue,
            name: name,
            parent: parent == 0 ? nil : parent,
            isAbstract: flags & 1 != 0,
            attributes: attributes,
            relationships: relationships,
            uniquenessConstraints: lists[0],
            indexes: lists[1],
            label: label == 0 ? nil : label,
            root: root
        )
    }

    private mutating func attribute() throws(DecodingFailure) -> AttributeDescription {
        let number = try self.propertyNumber("attribute number")
        let name = try self.string("attribute name", max: Limits.nameBytesMax)
        guard let type = AttributeType(rawValue: try self.byte("attribute type")) else {
            throw DecodingFailure(.unsupported, "attribute type")
        }
        let flags = try self.byte("attribute flags")
        return AttributeDescription(
            number: number.rawValue,
            name: name,
            type: type,
            isOptional: flags & 1 != 0,
            defaultValue: try self.value("attribute default"),
            defaultsToNow: flags & 2 != 0,
            minimum: try self.value("attribute minimum"),
            maximum: try self.value("attribute maximum")
        )
    }

    private mutating func relationship() throws(DecodingFailure) -> RelationshipDescription {
        let number = try self.propertyNumber("relationship number")
        let name = try self.string("relationship name", max: Limits.nameBytesMax)
        let destination = try self.entityNumber("relationship destination")
        let inverse = try self.propertyNumber("relationship inverse")
        let flags = try self.byte("relationship flags")
        guard let rule = DeleteRule(rawValue: try self.byte("relationship delete rule")) else {
            throw DecodingFailure(.unsupported, "relationship delete rule")
        }
        let minimum = try self.index("relationship minimum")
        let maximum = try self.index("relationship maximum")
        let join = try self.entityNumber("relationship join").rawValue
        return RelationshipDescription(
            number: number.rawValue,
            name: name,
            destination: destination.rawValue,
            inverse: inverse.rawValue,
            isToMany: flags & 1 != 0,
            isOrdered: flags & 2 != 0,
            isOptional: flags & 4 != 0,
            deleteRule: rule,
            minimumCount: minimum,
            maximumCount: maximum,
            join: join == 0 ? nil : join
        )
    }
}
