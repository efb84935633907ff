/// The byte form of a predicate.
extension ByteWriter {
    /// Writes a count of nodes, then each: 0 false, 1 true, 2 a comparison, 3 not, 4 and, 5 or with the number of
    /// operands.
    package mutating func write(predicate: FetchPredicate) {
        self.write(count: predicate.nodes.count)
        for node in predicate.nodes { self.write(node: node) }
    }

    mutating func write(node: FetchPredicate.Node) {
        switch node {
        case .constant(let value):
            self.write(byte: value ? 1 : 0)
        case .comparison(let comparison):
            self.write(byte: 2)
            self.write(comparison: comparison)
        case .not:
            self.write(byte: 3)
        case .and(let count):
            self.write(byte: 4)
            self.write(count: count)
        case .or(let count):
            self.write(byte: 5)
            self.write(count: count)
        }
    }

    private mutating func write(comparison: Comparison) {
        self.write(byte: comparison.quantifier.rawValue)
        self.write(path: comparison.path)
        self.write(byte: comparison.operator.rawValue)
        self.write(byte: comparison.folding.rawValue)
        self.write(count: comparison.values.count)
        for value in comparison.values { self.write(value: value) }
    }

    /// Writes the steps, then 0 for the object, 1 and an attribute, 2 and a relationship to count, 3, a function, a
    /// relationship and an attribute, or 4, a relationship and the predicate of the objects to count.
    package mutating func write(path: PropertyPath) {
        self.write(properties: path.steps)
        switch path.leaf {
        case .object:
            self.write(byte: 0)
        case .attribute(let property):
            self.write(byte: 1)
            self.write(count: Int(property.rawValue))
        case .count(let property):
            self.write(byte: 2)
            self.write(count: Int(property.rawValue))
        case .aggregate(let function, let relationship, let attribute):
            self.write(byte: 3)
            self.write(byte: function.rawValue)
            self.write(count: Int(relationship.rawValue))
            self.write(count: Int(attribute.rawValue))
        case .countWhere(let relationship, let predicate):
            self.write(byte: 4)
            self.write(count: Int(relationship.rawValue))
            self.write(predicate: predicate)
        }
    }
}

extension ByteReader {
    package mutating func predicate() throws(DecodingFailure) -> FetchPredicate { try self.predicate(depth: 0) }

    /// `depth`: the number of SUBQUERYs around it.
    private mutating func predicate(depth: Int) throws(DecodingFailure) -> FetchPredicate {
        var predicate = FetchPredicate()
        for _ in 0..<(try self.count("predicate nodes", max: Limits.predicateNodesMax)) {
            predicate.nodes.append(try self.node(depth: depth))
        }
        guard predicate.isWellFormed else { throw DecodingFailure(.invalidValue, "predicate") }
        return predicate
    }

    private mutating func node(depth: Int) throws(DecodingFailure) -> FetchPredicate.Node {
        switch try self.byte("predicate node") {
        case 0: return .constant(false)
        case 1: return .constant(true)
        case 2: return .comparison(try self.comparison(depth: depth))
        case 3: return .not
        case 4: return .and(try self.count("operands", max: Limits.predicateNodesMax, bytesEach: 0))
        case 5: return .or(try self.count("operands", max: Limits.predicateNodesMax, bytesEach: 0))
        default: throw DecodingFailure(.unsupported, "predicate node")
        }
    }

    private mutating func comparison(depth: Int) throws(DecodingFailure) -> Comparison {
        guard let quantifier = Comparison.Quantifier(rawValue: try self.byte("quantifier")) else {
            throw DecodingFailure(.unsupported, "quantifier")
        }
        let path = try self.propertyPath(depth: depth)
        guard let known = Comparison.Operator(rawValue: try self.byte("operator")) else {
            throw DecodingFailure(.unsupported, "operator")
        }
        let folding = TextFolding(rawValue: try self.byte("folding"))
        guard folding.rawValue <= 3 else { throw DecodingFailure(.unsupported, "folding") }
        var values: [AttributeValue] = []
        for _ in 0..<(try self.count("operands", max: Limits.predicateValuesMax)) {
            values.append(try self.value("operand"))
        }
        return Comparison(quantifier: quantifier, path: path, operator: known, folding: folding, values: values)
    }

    /// Reads a path outside a predicate, which has no SUBQUERY.
    package mutating func propertyPath() throws(DecodingFailure) -> PropertyPath { try self.propertyPath(depth: nil) }

    /// `depth`: the number of SUBQUERYs around it; `nil` outside a predicate.
    private mutating func propertyPath(depth: Int?) throws(DecodingFailure) -> PropertyPath {
        let count = try self.count("path")
        guard count <= Limits.pathStepsMax else { throw DecodingFailure(.outOfRange, "path") }
        var steps: [PropertyNumber] = []
        for _ in 0..<count { steps.append(try self.propertyNumber("property")) }
        switch try self.byte("path leaf") {
        case 0: return PropertyPath(steps: steps, leaf: .object)
        case 1: return PropertyPath(steps: steps, leaf: .attribute(try self.propertyNumber("path attribute")))
        case 2:
            // The counted relationship is a step too.
            guard steps.count < Limits.pathStepsMax else { throw DecodingFailure(.outOfRange, "path") }
            return PropertyPath(steps: steps, leaf: .count(try self.propertyNumber("path relationship")))
        case 3:
            guard steps.count < Limits.pathStepsMax else { throw DecodingFailure(.outOfRange, "path") }
            guard let function = AggregateFunction(rawValue: try self.byte("path function")) else {
                throw DecodingFailure(.unsupported, "path function")
            }
            let relationship = try self.propertyNumber("path relationship")
            let attribute = try self.propertyNumber("path attribute")
            return PropertyPath(steps: steps, leaf: .aggregate(function, relationship, attribute))
        case 4:
            guard steps.count < Limits.pathStepsMax else { throw DecodingFailure(.outOfRange, "path") }
            guard let depth else { throw DecodingFailure(.unsupported, "path leaf") }
            guard depth < Limits.subqueryDepthMax else {
                throw DecodingFailure(.limit, "subqueries", max: Limits.subqueryDepthMax)
            }
            let relationship = try self.propertyNumber("path relationship")
            return PropertyPath(steps: steps, leaf: .countWhere(relationship, try self.predicate(depth: depth + 1)))
        default: throw DecodingFailure(.unsupported, "path leaf")
        }
    }
}
