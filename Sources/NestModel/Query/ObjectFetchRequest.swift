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
public struct ObjectFetchRequest: Hashable, Sendable {
    /// The entity of the rows; objects of the entities below it are found too.
    public var entity: EntityNumber
    /// `nil`: all objects of the entity.
    public var source: FetchSource?
    /// The attributes and to-one relationships to send; empty for all of them and all `columns`. `PropertyNumber.entity`
    /// stands for the object's own entity.
    public var projection: [PropertyNumber]
    /// Empty: the order of the source's relationship; without a source, that of the ids.
    public var sort: [OrderingTerm]
    /// Which of those objects.
    public var predicate: FetchPredicate
    /// What to send beside stored properties: attributes behind to-one relationships (`user.name`), what those lead to, and
    /// counts (`children.@count`). In projections the i-th is `PropertyNumber.computed(i)`.
    public var columns: [PropertyPath]
    /// `nil`: one section for all.
    public var section: SectionKey?
    /// `nil`: all rows.
    public var window: FetchWindow?

    public init(
        entity: EntityNumber,
        source: FetchSource? = nil,
        projection: [PropertyNumber] = [],
        sort: [OrderingTerm] = [],
        predicate: FetchPredicate = .everything,
        columns: [PropertyPath] = [],
        section: SectionKey? = nil,
        window: FetchWindow? = nil
    ) {
        self.entity = entity
        self.source = source
        self.projection = projection
        self.sort = sort
        self.predicate = predicate
        self.columns = columns
        self.section = section
        self.window = window
    }

    /// The same request as every equal one is written: projection in ascending order, each property once, and all
    /// of them when none was named; a sort key once, where it decides.
    public func canonical(in model: ManagedObjectModel) -> ObjectFetchRequest {
        var request = self
        request.predicate = self.predicate.canonical ?? self.predicate
        request.sort = self.sort.enumerated().filter { index, descriptor in
            !self.sort[..<index].contains { $0.tellsApart(descriptor) }
        }.map(\.element)
        if self.projection.isEmpty {
            request.projection = model.entity(self.entity)?.storedProperties ?? []
            if model.kinds(of: self.entity).count > 1 { request.projection.insert(.entity, at: 0) }
            request.projection += self.columns.indices.map { .computed($0) }
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

    /// In a projection: the value of one of the request's columns. No property has a number so high.
    public static func computed(_ column: Int) -> PropertyNumber { PropertyNumber(0xff00 + UInt16(column)) }

    /// Which of the request's columns it stands for.
    public var column: Int? { self.rawValue >= 0xff00 ? Int(self.rawValue - 0xff00) : nil }
}
