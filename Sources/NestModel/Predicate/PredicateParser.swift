extension FetchPredicate {
    /// Reads the format-string language of predicates, with the names of an entity of a model: `done == NO AND (title
    /// CONTAINS[cd] "milk" OR ANY children.done == YES)`.
    ///
    /// Precedence: NOT, then AND, then OR. The result is in canonical form.
    public init(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        var lexer = PredicateLexer(text)
        var parser = PredicateParser(try lexer.tokens(), entity, model)
        let tree = try parser.predicate()
        let program = tree.program
        guard program.nodes.count <= Limits.predicateNodesMax else {
            throw PredicateSyntaxError(
                column: 1,
                message:
                    "the predicate has \(program.nodes.count) parts; at most \(Limits.predicateNodesMax) are allowed"
            )
        }
        self = program.canonical ?? program
    }
}

struct PredicateParser {
    private let tokens: [(token: PredicateToken, column: Int)]
    private var index = 0
    private var depth = 0
    private let entity: EntityDescription
    private let model: ManagedObjectModel

    init(_ tokens: [(token: PredicateToken, column: Int)], _ entity: EntityDescription, _ model: ManagedObjectModel) {
        self.tokens = tokens
        self.entity = entity
        self.model = model
    }

    mutating func predicate() throws(PredicateSyntaxError) -> PredicateTree {
        if self.token == .end { return .constant(true) }
        let tree = try self.disjunction()
        guard self.token == .end else { throw self.unexpected("AND, OR or the end") }
        return tree
    }

    // MARK: Tokens

    private var token: PredicateToken { self.tokens[self.index].token }
    private var column: Int { self.tokens[self.index].column }

    private mutating func advance() {
        if self.index < self.tokens.count - 1 { self.index += 1 }
    }

    private func error(_ message: String, at column: Int? = nil) -> PredicateSyntaxError {
        PredicateSyntaxError(column: column ?? self.column, message: message)
    }

    private func unexpected(_ wanted: String) -> PredicateSyntaxError {
        self.error("\(wanted) is expected here, not \(self.token.description)")
    }

    private func isWord(_ words: String...) -> Bool {
        guard case .word(let word) = self.token else { return false }
        return words.contains(word.uppercased())
    }

    private mutating func take(sign: String) -> Bool {
        guard self.token == .sign(sign) else { return false }
        self.advance()
        return true
    }

    private mutating func expect(sign: String) throws(PredicateSyntaxError) {
        guard self.take(sign: sign) else { throw self.unexpected("'\(sign)'") }
    }

    // MARK: Connectives

    private mutating func disjunction() throws(PredicateSyntaxError) -> PredicateTree {
        var operands = [try self.conjunction()]
        while self.isWord("OR") || self.token == .sign("||") {
            self.advance()
            operands.append(try self.conjunction())
        }
        return operands.count == 1 ? operands[0] : .or(operands)
    }

    private mutating func conjunction() throws(PredicateSyntaxError) -> PredicateTree {
        var operands = [try self.negation()]
        while self.isWord("AND") || self.token == .sign("&&") {
            self.advance()
            operands.append(try self.negation())
        }
        return operands.count == 1 ? operands[0] : .and(operands)
    }

    private mutating func negation() throws(PredicateSyntaxError) -> PredicateTree {
        self.depth += 1
        defer { self.depth -= 1 }
        guard self.depth <= Limits.predicateDepthMax else {
            throw self.error("the predicate is deeper than \(Limits.predicateDepthMax) levels")
        }
        if self.isWord("NOT") || self.token == .sign("!") {
            self.advance()
            return .not(try self.negation())
        }
        if self.take(sign: "(") {
            let tree = try self.disjunction()
            try self.expect(sign: ")")
            return tree
        }
        if self.isWord("TRUEPREDICATE") {
            self.advance()
            return .constant(true)
        }
        if self.isWord("FALSEPREDICATE") {
            self.advance()
            return .constant(false)
        }
        return try self.comparison()
    }

    // MARK: Comparisons

    private mutating func comparison() throws(PredicateSyntaxError) -> PredicateTree {
        let start = self.column
        var quantifier = Comparison.Quantifier.one
        if self.isWord("ANY", "SOME") { quantifier = .any }
        if self.isWord("ALL") { quantifier = .all }
        if self.isWord("NONE") { quantifier = .none }
        if quantifier != .one { self.advance() }
        // The value may be on the left: `1 == parent`.
        if let literal = try self.literalFirst() {
            let (symbol, folding) = try self.operation()
            guard let turned = symbol.turned else {
                throw self.error("write the property to the left of \(symbol.text)", at: start)
            }
            let path = try self.path(quantifier)
            return try self.comparison(quantifier, path, turned, folding, [literal], at: start)
        }
        let path = try self.path(quantifier)
        let column = self.column
        let (symbol, folding) = try self.operation()
        switch symbol {
        case .isIn where self.isWord("SUBTREE"):
            guard path.path == PropertyPath(leaf: .object), quantifier == .one else {
                throw self.error("only SELF can be IN SUBTREE(…)", at: column)
            }
            return try self.subtree()
        case .isIn:
            return try self.comparison(quantifier, path, symbol, folding, try self.list(), at: start)
        case .between:
            let values = try self.list()
            guard values.count == 2 else { throw self.error("BETWEEN takes two values: {1, 10}", at: column) }
            return try self.comparison(quantifier, path, symbol, folding, values, at: start)
        default:
            return try self.comparison(quantifier, path, symbol, folding, [try self.literal()], at: start)
        }
    }

    private mutating func comparison(
        _ quantifier: Comparison.Quantifier,
        _ path: ResolvedPath,
        _ symbol: Comparison.Operator,
        _ folding: TextFolding,
        _ literals: [PredicateLiteral],
        at column: Int
    ) throws(PredicateSyntaxError) -> PredicateTree {
        var values: [AttributeValue] = []
        for literal in literals { values.append(try literal.value(for: path, symbol)) }
        let comparison = Comparison(
            quantifier: quantifier,
            path: path.path,
            operator: symbol,
            folding: folding,
            values: values
        )
        if let fault = comparison.fault(of: path.type) { throw self.error("\(path.text) \(fault)", at: column) }
        return .comparison(comparison)
    }

    private mutating func literalFirst() throws(PredicateSyntaxError) -> PredicateLiteral? {
        switch self.token {
        case .number, .text, .sign("-"), .sign("+"): return try self.literal()
        case .word where self.isWord("NIL", "NULL", "YES", "NO", "TRUE", "FALSE"): return try self.literal()
        default: return nil
        }
    }

    private mutating func operation() throws(PredicateSyntaxError) -> (Comparison.Operator, TextFolding) {
        let symbol: Comparison.Operator
        switch self.token {
        case .sign("=="), .sign("="): symbol = .equal
        case .sign("!="), .sign("<>"): symbol = .notEqual
        case .sign("<"): symbol = .less
        case .sign("<="), .sign("=<"): symbol = .lessOrEqual
        case .sign(">"): symbol = .greater
        case .sign(">="), .sign("=>"): symbol = .greaterOrEqual
        case .word(let word):
            switch word.uppercased() {
            case "BETWEEN": symbol = .between
            case "IN": symbol = .isIn
            case "CONTAINS": symbol = .contains
            case "BEGINSWITH": symbol = .beginsWith
            case "ENDSWITH": symbol = .endsWith
            case "LIKE": symbol = .like
            case "MATCHES": throw self.error("MATCHES is not supported: use LIKE with * and ?, or CONTAINS")
            default: throw self.unexpected("an operator like == or CONTAINS")
            }
        default:
            throw self.unexpected("an operator like == or CONTAINS")
        }
        self.advance()
        return (symbol, try self.folding())
    }

    private mutating func folding() throws(PredicateSyntaxError) -> TextFolding {
        guard self.take(sign: "[") else { return [] }
        guard case .word(let letters) = self.token else { throw self.unexpected("c, d or cd") }
        var folding: TextFolding = []
        for letter in letters.lowercased() {
            switch letter {
            case "c": folding.insert(.caseInsensitive)
            case "d": folding.insert(.diacriticInsensitive)
            default: throw self.error("[\(letters)] is not supported: [c] ignores case, [d] diacritics")
            }
        }
        self.advance()
        try self.expect(sign: "]")
        return folding
    }

    private mutating func subtree() throws(PredicateSyntaxError) -> PredicateTree {
        self.advance()
        try self.expect(sign: "(")
        guard case .number(let digits) = self.token, let id = Int64(digits), id > 0, id <= Limits.objectIDMax else {
            throw self.unexpected("the id of an object")
        }
        self.advance()
        let candidates = self.entity.relationships.filter { self.model.hasSubtrees(of: self.entity, by: $0) }
        var relationship = candidates.count == 1 ? candidates[0] : nil
        if self.take(sign: ",") {
            guard case .word(let name) = self.token,
                let named = candidates.first(where: { $0.name.hasSameBytes(as: name) })
            else { throw self.unexpected("a to-many relationship of \(self.entity.name) to itself") }
            relationship = named
            self.advance()
        }
        guard let relationship else {
            throw self.error(
                candidates.isEmpty
                    ? "\(self.entity.name) has no to-many relationship to itself: there are no sub-trees"
                    : "name the relationship: SUBTREE(\(id), \(candidates[0].name))"
            )
        }
        try self.expect(sign: ")")
        let values: [AttributeValue] = [.reference(ObjectID(id)), .integer(Int64(relationship.number.rawValue))]
        return .comparison(Comparison(path: PropertyPath(leaf: .object), operator: .inSubtree, values: values))
    }

    // MARK: Paths

    private mutating func path(_ quantifier: Comparison.Quantifier) throws(PredicateSyntaxError) -> ResolvedPath {
        let column = self.column
        var resolver = PathResolver(self.entity, self.model)
        if self.isWord("SELF") {
            self.advance()
            guard self.token != .sign(".") else { throw self.error("a path begins with a property, not with SELF") }
            return try self.resolved(resolver.object(quantifier), at: column)
        }
        repeat {
            let isCount = self.take(sign: "@")
            guard case .word(let name) = self.token else {
                throw self.unexpected("a property of \(resolver.entity.name)")
            }
            let fault = isCount ? resolver.count(name) : resolver.follow(name)
            if let fault { throw self.error(fault) }
            self.advance()
        } while self.take(sign: ".")
        return try self.resolved(resolver.finish(quantifier), at: column)
    }

    private func resolved(_ result: Result<ResolvedPath, PathResolver.Fault>, at column: Int)
        throws(PredicateSyntaxError) -> ResolvedPath
    {
        switch result {
        case .success(let path): return path
        case .failure(let fault): throw self.error(fault.text, at: column)
        }
    }

    // MARK: Values

    private mutating func list() throws(PredicateSyntaxError) -> [PredicateLiteral] {
        let end: String
        if self.take(sign: "{") {
            end = "}"
        } else if self.take(sign: "(") {
            end = ")"
        } else {
            throw self.unexpected("a list like {1, 2, 3}")
        }
        var literals: [PredicateLiteral] = []
        if self.take(sign: end) { return [] }
        repeat {
            guard literals.count < Limits.predicateValuesMax else {
                throw self.error("a list has at most \(Limits.predicateValuesMax) values")
            }
            literals.append(try self.literal())
        } while self.take(sign: ",")
        try self.expect(sign: end)
        return literals
    }

    private mutating func literal() throws(PredicateSyntaxError) -> PredicateLiteral {
        let column = self.column
        var sign = ""
        if self.take(sign: "-") { sign = "-" } else if self.take(sign: "+") { sign = "" }
        switch self.token {
        case .number(let number):
            self.advance()
            return PredicateLiteral(kind: .number(sign + number), column: column)
        case .text(let text) where sign.isEmpty:
            self.advance()
            return PredicateLiteral(kind: .text(text), column: column)
        case .word(let word) where sign.isEmpty:
            self.advance()
            switch word.uppercased() {
            case "NIL", "NULL": return PredicateLiteral(kind: .null, column: column)
            case "YES", "TRUE": return PredicateLiteral(kind: .boolean(true), column: column)
            case "NO", "FALSE": return PredicateLiteral(kind: .boolean(false), column: column)
            case "DATE", "UUID", "DATA":
                try self.expect(sign: "(")
                guard case .text(let text) = self.token else { throw self.unexpected("a text in quotation marks") }
                self.advance()
                try self.expect(sign: ")")
                return try PredicateLiteral(function: word.lowercased(), text, column: column)
            default:
                throw self.error("'\(word)' is not a value; put texts in quotation marks", at: column)
            }
        default:
            throw self.unexpected("a value")
        }
    }
}
