/// A model as a person writes it: with names, without numbers. The readers of model files make it.
public struct ModelDraft: Hashable, Sendable {
    public var entities: [EntityDraft]
    /// The requests that the model names.
    public var requests: [RequestDraft]

    public init(entities: [EntityDraft] = [], requests: [RequestDraft] = []) {
        self.entities = entities
        self.requests = requests
    }
}

public struct EntityDraft: Hashable, Sendable {
    public var name: String
    /// The parent entity.
    public var parent: String?
    public var isAbstract = false
    /// Without inherited attributes.
    public var attributes: [AttributeDraft] = []
    /// Without inherited relationships.
    public var relationships: [RelationshipDraft] = []
    /// Lists of property names whose combined values are unique.
    public var uniquenessConstraints: [[String]] = []
    public var indexes: [[String]] = []
    public var label: String?
    /// The to-one relationship to the owner, and the id of the root object.
    public var root: (relationship: String, object: ObjectID)?
    public var renamedFrom: String?

    public init(name: String) {
        self.name = name
    }

    public static func == (a: EntityDraft, b: EntityDraft) -> Bool {
        a.name == b.name && a.parent == b.parent && a.isAbstract == b.isAbstract && a.attributes == b.attributes
            && a.relationships == b.relationships && a.uniquenessConstraints == b.uniquenessConstraints
            && a.indexes == b.indexes && a.label == b.label && a.root?.relationship == b.root?.relationship
            && a.root?.object == b.root?.object && a.renamedFrom == b.renamedFrom
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.name)
        hasher.combine(self.attributes)
    }
}

public struct AttributeDraft: Hashable, Sendable {
    public var name: String
    public var type: AttributeType
    public var isOptional = false
    public var defaultValue = AttributeValue.null
    public var defaultsToNow = false
    public var minimum = AttributeValue.null
    public var maximum = AttributeValue.null
    /// The regular expression that a whole text must match.
    public var pattern: String?
    public var renamedFrom: String?

    public init(name: String, type: AttributeType) {
        self.name = name
        self.type = type
    }
}

public struct RelationshipDraft: Hashable, Sendable {
    public var name: String
    public var destination: String
    /// The destination's relationship that leads back. Empty: the relationship is one-way, and the model gets a hidden
    /// inverse for it.
    public var inverse: String
    public var isToMany = false
    public var isOrdered = false
    public var isOptional = true
    public var deleteRule = DeleteRule.nullify
    public var minimumCount = 0
    public var maximumCount = 0
    public var renamedFrom: String?

    public init(name: String, destination: String, inverse: String = "") {
        self.name = name
        self.destination = destination
        self.inverse = inverse
    }
}

/// A model that cannot be used, with all its faults.
public struct ModelFaults: Error, Equatable, Sendable, CustomStringConvertible {
    public var faults: [String]

    public init(_ faults: [String]) {
        self.faults = faults
    }

    public var description: String { self.faults.joined(separator: "; ") }
}
