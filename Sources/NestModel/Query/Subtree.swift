/// Requests an object and everything below it along one to-many relationship, in preorder.
public struct SubtreeRequest: Hashable, Sendable {
    public var root: ObjectID
    /// The to-many relationship of `root` to follow down; its destination is the same entity.
    public var relationship: PropertyNumber
    /// Levels below the root; `nil` for all.
    public var depthLimit: Int?
    /// The properties to send of each row; empty for all attributes.
    public var properties: [PropertyNumber]

    public init(root: ObjectID, relationship: PropertyNumber, depthLimit: Int? = nil, properties: [PropertyNumber] = [])
    {
        self.root = root
        self.relationship = relationship
        self.depthLimit = depthLimit
        self.properties = properties
    }
}

/// Starts the import of a sub-tree. Its chunks follow and become visible as one transaction.
public struct SubtreeImport: Hashable, Sendable {
    public var key: Identifier128?
    /// The name of the undo entry; made from the first row if `nil`.
    public var name: String?
    public var entity: EntityNumber
    /// The placement of the rows of depth 0, which are inserted one after the other.
    public var placement: Placement
    /// The properties of each row, in this order.
    public var properties: [PropertyNumber]

    public init(
        key: Identifier128? = nil,
        name: String? = nil,
        entity: EntityNumber,
        placement: Placement,
        properties: [PropertyNumber]
    ) {
        self.key = key
        self.name = name
        self.entity = entity
        self.placement = placement
        self.properties = properties
    }
}

/// One object of a sub-tree stream.
public struct SubtreeRow: Hashable, Sendable {
    /// 0 for the top; at most one more than the row before.
    public var depth: Int
    /// `nil` in an import, where the server assigns ids.
    public var id: ObjectID?
    public var values: [AttributeValue]

    public init(depth: Int, id: ObjectID?, values: [AttributeValue]) {
        self.depth = depth
        self.id = id
        self.values = values
    }
}
