/// The objects that one object's to-many relationship leads to; in its order when it is ordered.
public struct FetchSource: Hashable, Sendable {
    public var object: ObjectID
    /// The to-many relationship of `object`.
    public var relationship: PropertyNumber

    public init(object: ObjectID, relationship: PropertyNumber) {
        self.object = object
        self.relationship = relationship
    }
}

/// What a subscription or fetch asks for. Equal requests (in canonical form) share one live result.
public struct FetchRequest: Hashable, Sendable {
    /// The entity of the rows.
    public var entity: EntityNumber
    public var source: FetchSource
    /// The attributes and to-one relationships to send; empty for all of them.
    public var projection: [PropertyNumber]

    public init(entity: EntityNumber, source: FetchSource, projection: [PropertyNumber] = []) {
        self.entity = entity
        self.source = source
        self.projection = projection
    }

    /// The same request as every equal one is written: projection in ascending order, each property once, and all
    /// of them when none was named.
    public func canonical(in entity: EntityDescription) -> FetchRequest {
        var request = self
        request.projection =
            self.projection.isEmpty ? entity.storedProperties : Array(Set(self.projection)).sorted()
        return request
    }
}

extension ByteWriter {
    /// Entity, then tagged fields: 1 source, 2 projection. A server refuses a tag it does not know.
    public mutating func write(fetchRequest request: FetchRequest) {
        self.write(count: Int(request.entity.rawValue))
        self.write(count: request.projection.isEmpty ? 1 : 2)
        var source = ByteWriter()
        source.write(objectID: request.source.object)
        source.write(count: Int(request.source.relationship.rawValue))
        self.write(count: 1)
        self.write(lengthPrefixed: source.bytes)
        if !request.projection.isEmpty {
            var projection = ByteWriter()
            projection.write(properties: request.projection)
            self.write(count: 2)
            self.write(lengthPrefixed: projection.bytes)
        }
    }

    public mutating func write(properties: [PropertyNumber]) {
        self.write(count: properties.count)
        for property in properties { self.write(count: Int(property.rawValue)) }
    }
}

extension ByteReader {
    public mutating func properties() throws(DecodingFailure) -> [PropertyNumber] {
        var properties: [PropertyNumber] = []
        for _ in 0..<(try self.count("properties", max: Limits.propertiesPerEntityMax)) {
            properties.append(try self.propertyNumber("property"))
        }
        return properties
    }

    public mutating func fetchRequest() throws(DecodingFailure) -> FetchRequest {
        let entity = try self.entityNumber("entity")
        var source: FetchSource?
        var projection: [PropertyNumber] = []
        var previous: UInt64 = 0
        for _ in 0..<(try self.count("fetch request fields", max: 16, bytesEach: 2)) {
            let tag = try self.varint("fetch request field")
            guard tag > previous else { throw DecodingFailure(.invalidValue, "fetch request field") }
            previous = tag
            let count = try self.count("fetch request field length")
            var field = ByteReader(try self.raw(count: count, "fetch request field"))
            switch tag {
            case 1:
                source = FetchSource(
                    object: try field.objectID("source object"),
                    relationship: try field.propertyNumber("source relationship")
                )
            case 2:
                projection = try field.properties()
            default:
                throw DecodingFailure(.unsupported, "fetch request field")
            }
            try field.finish("fetch request field")
        }
        guard let source else { throw DecodingFailure(.unsupported, "a fetch request without a source") }
        return FetchRequest(entity: entity, source: source, projection: projection)
    }
}
