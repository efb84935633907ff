/// Predicates as text.
extension FetchPredicate {
    /// Returns the predicate as a person would write it, with the names of a model. Reading the text returns an equal
    /// predicate.
    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        guard let tree = PredicateTree(self), !self.nodes.isEmpty else { return "TRUEPREDICATE" }
        return PredicatePrinter(entity: entity, model: model).text(tree, isInner: false)
    }
}

struct PredicatePrinter {
    let entity: EntityDescription
    let model: ManagedObjectModel
    /// The number of SUBQUERYs around the predicate.
    var depth = 0

    /// The variable of a SUBQUERY at a depth, from 1 to `Limits.subqueryDepthMax`.
    private static func variable(_ depth: Int) -> String { "$" + ["x", "y", "z", "w"][(depth - 1) % 4] }

    func text(_ tree: PredicateTree, isInner: Bool) -> String {
        switch tree {
        case .constant(let value): return value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): return self.text(comparison)
        case .not(let operand): return "NOT " + self.text(operand, isInner: true)
        case .and(let operands), .or(let operands):
            let word = if case .and = tree { " AND " } else { " OR " }
            let text = operands.map { self.text($0, isInner: true) }.joined(separator: word)
            return isInner ? "(\(text))" : text
        }
    }

    private func text(_ comparison: Comparison) -> String {
        if comparison.operator == .inSubtree { return self.subtree(comparison) }
        let quantifier =
            switch comparison.quantifier {
            case .one: ""
            case .any: "ANY "
            case .all: "ALL "
            case .none: "NONE "
            }
        let (path, isDecimal) = self.path(comparison.path)
        var folding = ""
        if comparison.folding.contains(.caseInsensitive) { folding += "c" }
        if comparison.folding.contains(.diacriticInsensitive) { folding += "d" }
        let symbol = comparison.operator.text + (folding.isEmpty ? "" : "[\(folding)]")
        let values = comparison.values.map { value in
            if comparison.operator == .like, case .string(let pattern) = value, LikeText.isSQL(pattern) {
                return FetchPredicate.quoted(LikeText.escaped(pattern))
            }
            return Self.text(value, isDecimal: isDecimal)
        }
        let isList = comparison.operator == .isIn || comparison.operator == .between
        return "\(quantifier)\(path) \(symbol) " + (isList ? "{\(values.joined(separator: ", "))}" : values.joined())
    }

    private func subtree(_ comparison: Comparison) -> String {
        guard case .reference(let id)? = comparison.values.first, case .integer(let number)? = comparison.values.last,
            let property = UInt16(exactly: number).map(PropertyNumber.init)
        else { return "FALSEPREDICATE" }
        return "SELF IN SUBTREE(\(id), \(self.entity.propertyName(property) ?? ""))"
    }

    /// `isDecimal`: the path leads to a decimal, whose value is written as a number.
    func path(_ path: PropertyPath) -> (text: String, isDecimal: Bool) {
        var entity = self.entity
        var names: [String] = self.depth == 0 ? [] : [Self.variable(self.depth)]
        func name(_ number: PropertyNumber) -> String {
            let name = entity.propertyName(number) ?? "#\(number.rawValue)"
            if names.isEmpty, PredicateWords.reserved.contains(name.uppercased()) { return "#\(name)" }
            return name == "id" ? "id_" : name
        }
        for step in path.steps {
            names.append(name(step))
            if let next = entity.relationship(step).flatMap({ self.model.entity($0.destination) }) { entity = next }
        }
        var isDecimal = false
        switch path.leaf {
        case .object: if names.isEmpty { names.append("SELF") }
        case .attribute(let property):
            names.append(name(property))
            isDecimal = entity.attribute(property)?.type == .decimal
        case .count(let property): names += [name(property), "@count"]
        case .aggregate(let function, let property, let attribute):
            names += [name(property), "@\(function.name)"]
            if let next = entity.relationship(property).flatMap({ self.model.entity($0.destination) }) { entity = next }
            names.append(name(attribute))
            isDecimal = entity.attribute(attribute).flatMap { function.type(of: $0.type) } == .decimal
        case .countWhere(let property, let predicate):
            names.append(name(property))
            let collection = names.joined(separator: ".")
            let destination = entity.relationship(property).flatMap { self.model.entity($0.destination) } ?? entity
            let inner = PredicatePrinter(entity: destination, model: self.model, depth: self.depth + 1)
            let text = inner.text(PredicateTree(predicate) ?? .constant(true), isInner: false)
            return ("SUBQUERY(\(collection), \(Self.variable(self.depth + 1)), \(text)).@count", false)
        }
        return (names.joined(separator: "."), isDecimal)
    }

    static func text(_ value: AttributeValue, isDecimal: Bool) -> String {
        switch value {
        case .null: return "nil"
        case .boolean(let value): return value ? "YES" : "NO"
        case .integer(let value): return "\(value)"
        case .double(let value): return "\(value)"
        case .string(let text) where isDecimal: return text
        case .string(let text): return FetchPredicate.quoted(text)
        case .date(let value): return "date(\"\(DateText.text(microseconds: value))\")"
        case .data(let value): return "data(\"\(Base64.text(value))\")"
        case .uuid(let value): return "uuid(\"\(value.uuidString)\")"
        case .reference(let id): return "\(id)"
        }
    }
}

extension FetchPredicate {
    /// Quotes a text for a predicate, for example a user's input: `"name CONTAINS[c] \(FetchPredicate.quoted(typed))"`.
    public static func quoted(_ text: String) -> String {
        var quoted = String.UnicodeScalarView()
        quoted.append("\"")
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted.append("\\")
                quoted.append(scalar)
            case "\n": quoted.append(contentsOf: "\\n".unicodeScalars)
            case "\t": quoted.append(contentsOf: "\\t".unicodeScalars)
            case "\r": quoted.append(contentsOf: "\\r".unicodeScalars)
            default: quoted.append(scalar)
            }
        }
        quoted.append("\"")
        return String(quoted)
    }
}
