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

/// One key of an order. Every order is completed by the objects' ids, ascending, so that it is total.
public struct SortDescriptor: Hashable, Sendable {
    /// An attribute of the rows. Null is below every value; text is ordered by its UTF-8 bytes, decimals as numbers.
    public var property: PropertyNumber
    public var isAscending: Bool

    public init(_ property: PropertyNumber, isAscending: Bool = true) {
        self.property = property
        self.isAscending = isAscending
    }
}

/// What a subscription or fetch asks for. Equal requests (in canonical form) share one live result.
public struct FetchRequest: Hashable, Sendable {
    /// The entity of the rows; objects of the entities below it are found too.
    public var entity: EntityNumber
    /// `nil`: all objects of the entity.
    public var source: FetchSource?
    /// The attributes and to-one relationships to send; empty for all of them. `PropertyNumber.entity` stands for the
    /// object's own entity.
    public var projection: [PropertyNumber]
    /// Empty: the order of the source's relationship; without a source, that of the ids.
    public var sort: [SortDescriptor]
    /// Which of those objects.
    public var predicate: Predicate

    public init(
        entity: EntityNumber,
        source: FetchSource? = nil,
        projection: [PropertyNumber] = [],
        sort: [SortDescriptor] = [],
        predicate: Predicate = .everything
    ) {
        self.entity = entity
        self.source = source
        self.projection = projection
        self.sort = sort
        self.predicate = predicate
    }

    /// The same request as every equal one is written: projection in ascending order, each property once, and all
    /// of them when none was named; a sort key once, where it decides.
    public func canonical(in model: ManagedObjectModel) -> FetchRequest {
        var request = self
        var seen: Set<PropertyNumber> = []
        request.predicate = self.predicate.canonical ?? self.predicate
        request.sort = self.sort.filter { seen.insert($0.property).inserted }
        if self.projection.isEmpty {
            request.projection = model.entity(self.entity)?.storedProperties ?? []
            if model.kinds(of: self.entity).count > 1 { request.projection.insert(.entity, at: 0) }
        } else {
            request.projection = Array(Set(self.projection)).sorted()
        }
        return request
    }
}

extension PropertyNumber {
    /// In a projection: the number of the object's own entity, an integer. Sent by itself when the entity has others below
    /// it.
    public static let entity = PropertyNumber(0)
}

extension ByteWriter {
    /// Entity, then tagged fields: 1 source, 2 projection, 3 sort, 4 predicate. A server refuses a tag it does not know.
    public mutating func write(fetchRequest request: FetchRequest) {
        self.write(count: Int(request.entity.rawValue))
        let isPresent = [
            request.source != nil, !request.projection.isEmpty, !request.sort.isEmpty, !request.predicate.nodes.isEmpty,
        ]
        self.write(count: isPresent.count { $0 })
        if let source = request.source {
            var field = ByteWriter()
            field.write(objectID: source.object)
            field.write(count: Int(source.relationship.rawValue))
            self.write(count: 1)
            self.write(lengthPrefixed: field.bytes)
        }
        if !request.projection.isEmpty {
            var field = ByteWriter()
            field.write(properties: request.projection)
            self.write(count: 2)
            self.write(lengthPrefixed: field.bytes)
        }
        if !request.sort.isEmpty {
            var field = ByteWriter()
            field.write(count: request.sort.count)
            for descriptor in request.sort {
                field.write(count: Int(descriptor.property.rawValue))
                field.write(byte: descriptor.isAscending ? 0 : 1)
            }
            self.write(count: 3)
            self.write(lengthPrefixed: field.bytes)
        }
        if !request.predicate.nodes.isEmpty {
            var field = ByteWriter()
            field.write(predicate: request.predicate)
            self.write(count: 4)
            self.write(lengthPrefixed: field.bytes)
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
        for _ in 0..<(try self.count("properties", max: Limits.propertiesPerEntityMax + 1)) {
            properties.append(try self.propertyNumber("property"))
        }
        return properties
    }

    public mutating func fetchRequest() throws(DecodingFailure) -> FetchRequest {
        var request = FetchRequest(entity: try self.entityNumber("entity"))
        var previous: UInt64 = 0
        for _ in 0..<(try self.count("fetch request fields", max: 16, bytesEach: 2)) {
            let tag = try self.varint("fetch request field")
            guard tag > previous else { throw DecodingFailure(.invalidValue, "fetch request field") }
            previous = tag
            let count = try self.count("fetch request field length")
            var field = ByteReader(try self.raw(count: count, "fetch request field"))
            switch tag {
            case 1:
                request.source = FetchSource(
                    object: try field.objectID("source object"),
                    relationship: try field.propertyNumber("source relationship")
                )
            case 2:
                request.projection = try field.properties()
            case 3:
                request.sort = try field.sortDescriptors()
            case 4:
                request.predicate = try field.predicate()
            default:
                throw DecodingFailure(.unsupported, "fetch request field")
            }
            try field.finish("fetch request field")
        }
        return request
    }

    private mutating func sortDescriptors() throws(DecodingFailure) -> [SortDescriptor] {
        var sort: [SortDescriptor] = []
        for _ in 0..<(try self.count("sort descriptors", max: Limits.sortDescriptorsMax, bytesEach: 2)) {
            let property = try self.propertyNumber("sort property")
            let flags = try self.byte("sort flags")
            guard flags <= 1 else { throw DecodingFailure(.unsupported, "sort flags") }
            sort.append(SortDescriptor(property, isAscending: flags == 0))
        }
        return sort
    }
}
