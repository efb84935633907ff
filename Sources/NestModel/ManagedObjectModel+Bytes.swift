extension ByteWriter {
    /// The byte form of a model: entities and properties ascending by number.
    public mutating func write(model: ManagedObjectModel) {
        self.write(count: model.entities.count)
        for entity in model.entities {
            self.write(count: Int(entity.number.rawValue))
            self.write(string: entity.name)
            self.write(count: entity.attributes.count)
            for attribute in entity.attributes {
                self.write(count: Int(attribute.number.rawValue))
                self.write(string: attribute.name)
                self.write(byte: attribute.type.rawValue)
                self.write(byte: attribute.isOptional ? 1 : 0)
                self.write(value: attribute.defaultValue)
            }
            self.write(count: entity.relationships.count)
            for relationship in entity.relationships {
                self.write(count: Int(relationship.number.rawValue))
                self.write(string: relationship.name)
                self.write(count: Int(relationship.destination.rawValue))
                self.write(count: Int(relationship.inverse.rawValue))
                let flags =
                    (relationship.isToMany ? 1 : 0) | (relationship.isOrdered ? 2 : 0)
                    | (relationship.isOptional ? 4 : 0)
                self.write(byte: UInt8(flags))
                self.write(byte: relationship.deleteRule.rawValue)
            }
            self.write(count: entity.root == nil ? 0 : 1)
            if let root = entity.root {
                self.write(objectID: root.object)
                self.write(count: Int(root.relationship.rawValue))
            }
        }
    }
}

extension ByteReader {
    public mutating func entityNumber(_ field: StaticString) throws(DecodingFailure) -> EntityNumber {
        EntityNumber(try self.number(field))
    }

    public mutating func propertyNumber(_ field: StaticString) throws(DecodingFailure) -> PropertyNumber {
        PropertyNumber(try self.number(field))
    }

    private mutating func number(_ field: StaticString) throws(DecodingFailure) -> UInt16 {
        guard let value = UInt16(exactly: try self.varint(field)) else {
            throw DecodingFailure(.outOfRange, "\(field)")
        }
        return value
    }

    public mutating func model() throws(DecodingFailure) -> ManagedObjectModel {
        var entities: [EntityDescription] = []
        for _ in 0..<(try self.count("entities", max: Limits.entitiesPerModelMax, bytesEach: 5)) {
            entities.append(try self.entity())
        }
        return ManagedObjectModel(entities: entities)
    }

    private mutating func entity() throws(DecodingFailure) -> EntityDescription {
        let number = try self.entityNumber("entity number")
        let name = try self.string("entity name", max: Limits.nameBytesMax)
        var attributes: [AttributeDescription] = []
        for _ in 0..<(try self.count("attributes", max: Limits.propertiesPerEntityMax, bytesEach: 5)) {
            attributes.append(try self.attribute())
        }
        var relationships: [RelationshipDescription] = []
        for _ in 0..<(try self.count("relationships", max: Limits.propertiesPerEntityMax, bytesEach: 6)) {
            relationships.append(try self.relationship())
        }
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
            attributes: attributes,
            relationships: relationships,
            root: root
        )
    }

    private mutating func attribute() throws(DecodingFailure) -> AttributeDescription {
        let number = try self.propertyNumber("attribute number")
        let name = try self.string("attribute name", max: Limits.nameBytesMax)
        guard let type = AttributeType(rawValue: try self.byte("attribute type")) else {
            throw DecodingFailure(.unsupported, "attribute type")
        }
        return AttributeDescription(
            number: number.rawValue,
            name: name,
            type: type,
            isOptional: try self.byte("attribute optional") != 0,
            defaultValue: try self.value("attribute default")
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
        return RelationshipDescription(
            number: number.rawValue,
            name: name,
            destination: destination.rawValue,
            inverse: inverse.rawValue,
            isToMany: flags & 1 != 0,
            isOrdered: flags & 2 != 0,
            isOptional: flags & 4 != 0,
            deleteRule: rule
        )
    }
}
