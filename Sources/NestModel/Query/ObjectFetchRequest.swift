/// The objects of one object's to-many relationship, in its order if it is ordered.
public struct FetchSource: Hashable, Sendable {
    public var object: ObjectID
    /// The to-many relationship of `object`.
    public var relationship: PropertyNumber

    public init(object: ObjectID, relationship: PropertyNumber) {
        self.object = object
        self.relationship = relationship
    }
}

/// The request of a subscription or fetch. Equal requests (in canonical form) share one live result.
public struct ObjectFetchRequest: Hashable, Sendable {
    /// The entity of the rows. The request also finds objects of the entities below it.
    public var entity: EntityNumber
    /// The relationship whose objects are the rows; `nil`: all objects of the entity.
    public var source: FetchSource?
    /// The attributes and to-one relationships to send; empty for all of them and all `columns`.
    /// `PropertyNumber.entity` is the object's own entity.
    public var projection: [PropertyNumber]
    /// The sort keys. Empty: the order of the source's relationship; without a source, ascending ids.
    public var sort: [OrderingTerm]
    /// Selects objects among those.
    public var predicate: FetchPredicate
    /// Computed values to send with the stored properties: attributes behind to-one relationships (`user.name`), the
    /// objects these refer to, counts (`children.@count`) and functions (`phones.@sum.minutes`). In projections the
    /// i-th is `PropertyNumber.computed(i)`.
    public var columns: [PropertyPath]
    /// `nil`: one section for all rows.
    public var section: SectionKey?
    /// `nil`: all rows.
    public var window: FetchWindow?
    /// Not `nil`: the rows are an outline. It needs a source and a window, and has no sort keys and no sections.
    public var outline: FetchOutline?
    /// Values over all rows, and over those of each section. They come beside the rows, at the same revision.
    public var totals: [FetchTotal]

    public init(
        entity: EntityNumber,
        source: FetchSource? = nil,
        projection: [PropertyNumber] = [],
        sort: [OrderingTerm] = [],
        predicate: FetchPredicate = .everything,
        columns: [PropertyPath] = [],
        section: SectionKey? = nil,
        window: FetchWindow? = nil,
        outline: FetchOutline? = nil,
        totals: [FetchTotal] = []
    ) {
        self.entity = entity
        self.source = source
        self.projection = projection
        self.sort = sort
        self.predicate = predicate
        self.columns = columns
        self.section = section
        self.window = window
        self.outline = outline
        self.totals = totals
    }

    /// Returns the canonical form, the same for all equal requests. It lists the projection in ascending order without
    /// duplicates, or all properties if none was given, and drops sort keys that cannot decide.
    public func canonical(in model: ManagedObjectModel) -> ObjectFetchRequest {
        var request = self
        request.predicate = self.predicate.canonical ?? self.predicate
        request.outline = self.outline?.canonical
        request.sort = self.sort.enumerated().filter { index, descriptor in
            !self.sort[..<index].contains { $0.makesRedundant(descriptor) }
        }.map(\.element)
        request.projection =
            self.projection.isEmpty ? self.allProperties(in: model) : Array(Set(self.projection)).sorted()
        return request
    }

    /// Returns the request with the properties that an empty projection stands for. It gives the same rows in a model
    /// with more properties.
    public func spelledOut(in model: ManagedObjectModel) -> ObjectFetchRequest {
        guard self.projection.isEmpty else { return self }
        var request = self
        request.projection = self.allProperties(in: model)
        // An empty projection would mean all properties again.
        if request.projection.isEmpty { request.projection = [.entity] }
        return request
    }

    private func allProperties(in model: ManagedObjectModel) -> [PropertyNumber] {
        var properties = model.entity(self.entity)?.storedProperties ?? []
        if model.kinds(of: self.entity).count > 1 { properties.insert(.entity, at: 0) }
        properties += self.columns.indices.map { .computed($0) }
        if self.outline != nil { properties += [.outlineChildren, .outlineDepth] }
        return properties
    }
}

extension PropertyNumber {
    /// In a projection: the number of the object's own entity, an integer. Sent by default if there are entities below
    /// the request's entity.
    public static let entity = PropertyNumber(0)

    /// In a projection: the value of one of the request's columns. No property has such a high number.
    public static func computed(_ column: Int) -> PropertyNumber { PropertyNumber(0xff00 + UInt16(column)) }

    /// The index of the request's column; `nil` for other properties.
    public var column: Int? {
        self.rawValue >= 0xff00 && !self.isOfOutlines ? Int(self.rawValue - 0xff00) : nil
    }
}
