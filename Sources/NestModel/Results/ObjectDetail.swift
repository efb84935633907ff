/// One object with all its values, as `show` prints it.
public struct ObjectDetail: Hashable, Sendable {
    public var entity: EntityNumber
    public var id: ObjectID
    /// The revision of the object's last change.
    public var revision: Revision
    /// Attributes and to-one relationships, ascending by number.
    public var values: [(property: PropertyNumber, value: AttributeValue)]
    /// The number of objects in each to-many relationship.
    public var counts: [(property: PropertyNumber, count: Int)]

    public init(
        entity: EntityNumber,
        id: ObjectID,
        revision: Revision,
        values: [(property: PropertyNumber, value: AttributeValue)],
        counts: [(property: PropertyNumber, count: Int)]
    ) {
        self.entity = entity
        self.id = id
        self.revision = revision
        self.values = values
        self.counts = counts
    }

    public static func == (a: ObjectDetail, b: ObjectDetail) -> Bool {
        a.entity == b.entity && a.id == b.id && a.revision == b.revision
            && a.values.elementsEqual(b.values) { $0.property == $1.property && $0.value == $1.value }
            && a.counts.elementsEqual(b.counts) { $0 == $1 }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.id)
        hasher.combine(self.revision)
    }
}
