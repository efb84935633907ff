import NestModel

/// A condition for objects of an entity, written with key paths: `\.done == false && .contains(\.title, "milk")`.
///
/// It becomes the same predicate as the text of the query language would.
public struct TypedPredicate<Entity: ModelEntity>: Sendable {
    indirect enum Node: Sendable {
        case comparison(path: String, Comparison.Quantifier, Comparison.Operator, TextFolding, [AttributeValue])
        case not(Node)
        /// At least two operands: a chain is one node, as in the text, so that its depth does not grow.
        case and([Node])
        case or([Node])
        /// A value that no attribute can hold.
        case fault(NestError)
    }

    let node: Node

    /// Returns the predicate for an entity of a model. Throws `unknownProperty` for a path that the model lacks.
    func predicate(of entity: NamedEntity) throws(NestError) -> FetchPredicate {
        var nodes: [FetchPredicate.Node] = []
        try Self.append(self.node, to: &nodes, entity)
        return FetchPredicate(nodes: nodes)
    }

    private static func append(
        _ node: Node,
        to nodes: inout [FetchPredicate.Node],
        _ entity: NamedEntity
    ) throws(NestError) {
        switch node {
        case .comparison(let path, let quantifier, let `operator`, let folding, let values):
            let comparison = Comparison(
                quantifier: quantifier,
                path: try entity.path(path),
                operator: `operator`,
                folding: folding,
                values: values
            )
            nodes.append(.comparison(comparison))
        case .not(let operand):
            try Self.append(operand, to: &nodes, entity)
            nodes.append(.not)
        case .and(let operands):
            for operand in operands { try Self.append(operand, to: &nodes, entity) }
            nodes.append(.and(operands.count))
        case .or(let operands):
            for operand in operands { try Self.append(operand, to: &nodes, entity) }
            nodes.append(.or(operands.count))
        case .fault(let error): throw error
        }
    }

    public static func && (a: TypedPredicate, b: TypedPredicate) -> TypedPredicate {
        TypedPredicate(node: .and(a.conjuncts + b.conjuncts))
    }

    public static func || (a: TypedPredicate, b: TypedPredicate) -> TypedPredicate {
        TypedPredicate(node: .or(a.disjuncts + b.disjuncts))
    }

    private var conjuncts: [Node] {
        if case .and(let operands) = self.node { operands } else { [self.node] }
    }

    private var disjuncts: [Node] {
        if case .or(let operands) = self.node { operands } else { [self.node] }
    }

    public static prefix func ! (operand: TypedPredicate) -> TypedPredicate {
        TypedPredicate(node: .not(operand.node))
    }

    /// Compares the value at a path.
    static func compare<Value>(
        _ path: TypedPath<Value>,
        _ comparison: Comparison.Operator,
        _ values: [any MutationValueConvertible],
        _ folding: TextFolding = []
    ) -> TypedPredicate {
        do throws(NestError) {
            let values = try values.map { (value) throws(NestError) in try Self.attributeValue(value) }
            return TypedPredicate(node: .comparison(path: path.text, path.quantifier, comparison, folding, values))
        } catch {
            return TypedPredicate(node: .fault(error))
        }
    }

    private static func attributeValue(_ value: any MutationValueConvertible) throws(NestError) -> AttributeValue {
        switch try value.mutationValue {
        case .value(let value): return value
        case .reference(let reference) where reference.rawValue > 0: return .reference(ObjectID(reference.rawValue))
        case .reference: throw NestError(.invalid, "a predicate cannot refer to an object that is not saved")
        }
    }
}
