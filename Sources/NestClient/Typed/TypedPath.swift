import NestModel

/// A path from an object to a value of a Swift type, such as `owner.name`.
public struct TypedPath<Value: Sendable>: Sendable {
    /// The path as a request's text has it.
    public let text: String
    let quantifier: Comparison.Quantifier

    public init(_ text: String) {
        self.init(text, .one)
    }

    init(_ text: String, _ quantifier: Comparison.Quantifier) {
        self.text = text
        self.quantifier = quantifier
    }

    /// The same path as a column that may be null: `Post.all.columns(\.user.name.optional)`.
    public var optional: TypedPath<Value?> { TypedPath<Value?>(self.text, self.quantifier) }
}

/// The path to the object of a to-one relationship, and to its properties: `\.owner == ann`, `\.owner.name == "Ann"`.
@dynamicMemberLookup public struct ToOnePath<Target: ModelEntity>: Sendable {
    // Their names leave those of short properties to the target's.
    let pathText: String
    let pathQuantifier: Comparison.Quantifier

    public init(_ text: String) {
        self.init(text, .one)
    }

    init(_ text: String, _ quantifier: Comparison.Quantifier) {
        self.pathText = text
        self.pathQuantifier = quantifier
    }

    public subscript<Value>(dynamicMember path: KeyPath<Target.Paths, TypedPath<Value>>) -> TypedPath<Value> {
        TypedPath("\(self.pathText).\(Target.paths[keyPath: path].text)", self.pathQuantifier)
    }

    public subscript<Next>(dynamicMember path: KeyPath<Target.Paths, ToOnePath<Next>>) -> ToOnePath<Next> {
        ToOnePath<Next>("\(self.pathText).\(Target.paths[keyPath: path].pathText)", self.pathQuantifier)
    }

    public subscript<Next>(dynamicMember path: KeyPath<Target.Paths, ToManyPath<Next>>) -> ToManyPath<Next> {
        ToManyPath<Next>("\(self.pathText).\(Target.paths[keyPath: path].text)", self.pathQuantifier)
    }
}

/// The path to the objects of a to-many relationship: `\.phones.count > 0`, `\.phones.any.number == "117"`.
public struct ToManyPath<Target: ModelEntity>: Sendable {
    let text: String
    let quantifier: Comparison.Quantifier

    public init(_ text: String) {
        self.init(text, .one)
    }

    init(_ text: String, _ quantifier: Comparison.Quantifier) {
        self.text = text
        self.quantifier = quantifier
    }

    /// The number of objects.
    public var count: TypedPath<Int> { TypedPath("\(self.text).@count", self.quantifier) }

    /// A comparison that at least one of the objects satisfies.
    public var any: ToOnePath<Target> { ToOnePath(self.text, .any) }

    /// A comparison that each of the objects satisfies; true if there are none.
    public var all: ToOnePath<Target> { ToOnePath(self.text, .all) }

    /// A comparison that none of the objects satisfies; true if there are none.
    public var none: ToOnePath<Target> { ToOnePath(self.text, .none) }
}

extension NamedEntity {
    /// Returns the path of a text like "owner.phones.@count". Its steps are relationships; it ends at an attribute, an
    /// object, or the number of objects.
    func path(_ text: String) throws(NestError) -> PropertyPath {
        var entity = self.description
        var path = PropertyPath(leaf: .object)
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for (index, name) in names.enumerated() {
            if name == "@count", index == names.count - 1, let relationship = path.steps.popLast() {
                path.leaf = .count(relationship)
            } else if let attribute = entity.attributes.first(where: { $0.name == name }), index == names.count - 1 {
                path.leaf = .attribute(attribute.number)
            } else if let relationship = entity.relationships.first(where: { $0.name == name }),
                let destination = self.model.entity(relationship.destination)
            {
                path.steps.append(relationship.number)
                entity = destination
            } else {
                throw NestError(.unknownProperty, "\(entity.name) has no '\(name)' for the path \(text)")
            }
        }
        return path
    }
}
