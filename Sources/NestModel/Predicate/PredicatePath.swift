/// The type of the value at the end of a path.
package enum PathType: Equatable, Sendable {
    case attribute(AttributeType)
    case object(EntityNumber)
    case count

    package var description: String {
        switch self {
        case .attribute(let type): "\(type)"
        case .object: "an object"
        case .count: "a count"
        }
    }
}

package struct ResolvedPath {
    package var path: PropertyPath
    package var type: PathType
    /// The path as it was written.
    package var text: String
    /// The type of the values that an aggregate function takes; otherwise `nil`.
    package var aggregatedType: AttributeType?
}

/// Resolves the names of a path in a model. Its methods return what is wrong, or `nil`.
package struct PathResolver {
    package struct Fault: Error {
        package var text: String
    }

    /// What the path is for.
    package enum Use: Sendable {
        /// A comparison of a predicate, which may have a quantifier.
        case tested
        /// A sort key, a section key or a column: one value of each row.
        case read
    }

    private let model: ManagedObjectModel
    private let use: Use
    private(set) var entity: EntityDescription
    private var steps: [PropertyNumber] = []
    private var names: [String] = []
    private var toManyCount = 0
    /// The number of names up to the first to-many relationship, that one included.
    private var namesToMany = 0
    private var leaf: (leaf: PropertyPath.Leaf, type: PathType)?
    /// The last step if it is to-many: `@count` or another function may follow.
    private var lastToMany: PropertyNumber?
    /// The function whose attribute comes next.
    private var function: AggregateFunction?
    private var aggregatedType: AttributeType?

    init(_ entity: EntityDescription, _ model: ManagedObjectModel, _ use: Use) {
        self.model = model
        self.use = use
        self.entity = entity
    }

    /// Resolves `SELF`, which is one object and allows no quantifier.
    func object(_ quantifier: Comparison.Quantifier) -> Result<ResolvedPath, Fault> {
        guard quantifier == .one else { return .failure(Self.one("SELF")) }
        let type = PathType.object(self.entity.number)
        return .success(ResolvedPath(path: PropertyPath(leaf: .object), type: type, text: "SELF"))
    }

    private static func one(_ text: String) -> Fault {
        Fault(text: "\(text) leads to one: leave out ANY, ALL or NONE, which need a to-many relationship")
    }

    mutating func follow(_ name: String) -> String? {
        if let fault = self.endFault { return fault }
        let asked = name == "id_" ? "id" : name
        let attribute = self.entity.attributes.first { $0.name.hasSameBytes(as: asked) }?.number
        let relationship = self.entity.relationships.first { $0.name.hasSameBytes(as: asked) }?.number
        guard let property = attribute ?? relationship else {
            return "\(self.entity.name) has no property '\(name)'\(self.hint(name))"
        }
        return self.follow(property, name)
    }

    /// What to write instead of the name of a property that the entity does not have.
    private func hint(_ name: String) -> String {
        if ["id", "_id", "id_", "objectid"].contains(name.lowercased()) {
            switch (self.use, self.names.isEmpty) {
            case (.read, true): return ": every row has its id, and rows without a sort key are in the order of ids"
            case (.read, false): return ": write \(self.names.joined(separator: ".")) for the id of the object"
            case (.tested, true): return ": write SELF == 4 to compare the id of the object"
            case (.tested, false): return ": write \(self.names.joined(separator: ".")) == 4 to compare the id"
            }
        }
        let names = self.entity.propertyNames
        let list = "it has \(names.joined(separator: ", "))"
        return NearestName.find(name, among: names).map { ": did you mean \($0)? \(list)" } ?? "; \(list)"
    }

    /// Follows `property` of the entity, which the path calls `name`. By its number, because two properties may have
    /// the same name in a path.
    mutating func follow(_ property: PropertyNumber, _ name: String) -> String? {
        if let fault = self.endFault { return fault }
        if let function = self.function {
            return self.aggregate(function, property, name)
        } else if let attribute = self.entity.attribute(property) {
            self.leaf = (.attribute(attribute.number), .attribute(attribute.type))
            self.lastToMany = nil
        } else if let relationship = self.entity.relationship(property) {
            guard let destination = self.model.entity(relationship.destination) else {
                return "the model is inconsistent"
            }
            guard self.steps.count < Limits.pathStepsMax else {
                return "a path follows at most \(Limits.pathStepsMax) relationships"
            }
            self.steps.append(relationship.number)
            if relationship.isToMany {
                self.toManyCount += 1
                if self.toManyCount == 1 { self.namesToMany = self.names.count + 1 }
            }
            self.lastToMany = relationship.isToMany ? relationship.number : nil
            self.entity = destination
        } else {
            return "\(self.entity.name) has no property number \(property.rawValue)"
        }
        self.names.append(name)
        return nil
    }

    /// Ends the path with the attribute of a function.
    private mutating func aggregate(
        _ function: AggregateFunction,
        _ property: PropertyNumber,
        _ name: String
    ) -> String? {
        let text = "@\(function.name)"
        guard let attribute = self.entity.attribute(property) else {
            return "\(name) is a relationship: \(text) is of an attribute of \(self.entity.name)"
        }
        guard let type = function.type(of: attribute.type) else {
            return "\(self.entity.name).\(name) is \(attribute.type): \(text) is for numbers"
        }
        guard let relationship = self.lastToMany else { return "the model is inconsistent" }
        if self.use == .tested, self.toManyCount > 0 {
            return "\(text) is of the objects of one to-many relationship: no other one may be before it"
        }
        self.leaf = (.aggregate(function, relationship, attribute.number), .attribute(type))
        self.aggregatedType = attribute.type
        self.function = nil
        self.names.append(name)
        return nil
    }

    /// The error for a step after an attribute or a count.
    private var endFault: String? {
        self.leaf == nil ? nil : "\(self.names.joined(separator: ".")) is not a relationship: nothing can follow it"
    }

    /// Takes `@count`, or a function like `@sum` whose attribute comes next.
    mutating func collect(_ name: String) -> String? {
        if let fault = self.collectionFault(name) { return fault }
        guard let relationship = self.lastToMany, self.leaf == nil, self.function == nil else {
            return name == "count"
                ? "@count counts the objects of a to-many relationship: write it after one"
                : "@\(name) is of the objects of a to-many relationship: write it after one, like phones.@\(name).number"
        }
        self.steps.removeLast()
        self.toManyCount -= 1
        self.names.append("@\(name)")
        if let function = AggregateFunction(name: name) {
            self.function = function
        } else {
            self.leaf = (.count(relationship), .count)
        }
        return nil
    }

    /// Ends the path with the objects of its to-many relationship for which a predicate is true, to be counted.
    mutating func collect(where predicate: FetchPredicate, _ quantifier: Comparison.Quantifier) -> String? {
        let path = self.names.joined(separator: ".")
        guard self.use == .tested else { return "SUBQUERY is for predicates only" }
        guard quantifier == .one else { return "SUBQUERY counts objects: leave out ANY, ALL or NONE" }
        guard let relationship = self.lastToMany else {
            return "\(path) does not lead to many: SUBQUERY is of a to-many relationship"
        }
        guard self.toManyCount == 1 else {
            return "\(path) follows more than one to-many relationship: write a SUBQUERY within a SUBQUERY"
        }
        self.steps.removeLast()
        self.toManyCount = 0
        self.lastToMany = nil
        self.names = ["SUBQUERY(\(path), …)", "@count"]
        self.leaf = (.countWhere(relationship, predicate), .count)
        return nil
    }

    private func collectionFault(_ name: String) -> String? {
        if name == "count" { return nil }
        if AggregateFunction(name: name) != nil { return nil }
        let names = AggregateFunction.allCases.map { "@\($0.name)" }.joined(separator: ", ")
        return "there is no @\(name): only @count, \(names)"
    }

    func finish(_ quantifier: Comparison.Quantifier) -> Result<ResolvedPath, Fault> {
        let text = self.names.joined(separator: ".")
        if let function = self.function {
            return .failure(
                Fault(text: "@\(function.name) needs an attribute of \(self.entity.name): write it after a point")
            )
        }
        if self.toManyCount > 1 {
            return .failure(Fault(text: "\(text) follows more than one to-many relationship; a path may follow one"))
        }
        if self.toManyCount == 1, quantifier == .one {
            let count = self.names.prefix(self.namesToMany).joined(separator: ".") + ".@count"
            let hint =
                switch self.use {
                case .tested: "write ANY, ALL or NONE before it, or count with \(count)"
                case .read: "follow to-one relationships only, or count with \(count)"
                }
            return .failure(Fault(text: "\(text) leads to many: \(hint)"))
        }
        if self.toManyCount == 0, quantifier != .one {
            return .failure(Self.one(text))
        }
        let (leaf, type) = self.leaf ?? (.object, .object(self.entity.number))
        let path = PropertyPath(steps: self.steps, leaf: leaf)
        return .success(ResolvedPath(path: path, type: type, text: text, aggregatedType: self.aggregatedType))
    }
}
