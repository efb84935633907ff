extension FetchPredicate {
    /// Reads the format-string language of predicates, with the names of an entity of a model: `done == NO AND (title
    /// CONTAINS[cd] "milk" OR ANY children.done == YES)`.
    ///
    /// Precedence: NOT, then AND, then OR. The result is in canonical form. `dates`: the zone of dates without one, and
    /// the moment that `now` and `today` mean.
    public init(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel,
        dates: DateReading = .utc
    ) throws(PredicateSyntaxError) {
        var lexer = PredicateLexer(text)
        var parser = PredicateParser(try lexer.tokens(), entity, model, dates)
        let tree = try parser.predicate()
        let program = tree.program
        guard program.nodeCount <= Limits.predicateNodesMax else {
            throw PredicateSyntaxError(
                column: 1,
                message:
                    "the predicate has \(program.nodeCount) parts; at most \(Limits.predicateNodesMax) are allowed"
            )
        }
        self = program.canonical ?? program
    }
}

extension RequestText {
    /// Throws if a text is no predicate, whatever values its variables have.
    static func check(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        var lexer = PredicateLexer(text)
        var parser = PredicateParser(try lexer.tokens(), entity, model, .utc, hasOpenValues: true)
        _ = try parser.predicate()
    }
}

struct PredicateParser {
    let tokens: [(token: PredicateToken, column: Int)]
    private(set) var index = 0
    private var depth = 0
    private var partCount = 0
    /// The entity of the objects that the next comparison is about.
    private(set) var entity: EntityDescription
    /// The variables of the SUBQUERYs around the next comparison, the innermost last.
    private(set) var variables: [String] = []
    let model: ManagedObjectModel
    let dates: DateReading
    /// Whether a variable may stand for a value of any type, in the text of a named request.
    let hasOpenValues: Bool

    init(
        _ tokens: [(token: PredicateToken, column: Int)],
        _ entity: EntityDescription,
        _ model: ManagedObjectModel,
        _ dates: DateReading,
        hasOpenValues: Bool = false
    ) {
        self.hasOpenValues = hasOpenValues
        self.tokens = tokens
        self.entity = entity
        self.model = model
        self.dates = dates
    }

    mutating func predicate() throws(PredicateSyntaxError) -> PredicateTree {
        if self.token == .end { return .constant(true) }
        let tree = try self.disjunction()
        guard self.token == .end else { throw self.unexpectedAfterComparison }
        return tree
    }

    // MARK: Tokens

    var token: PredicateToken { self.tokens[self.index].token }
    var next: PredicateToken { self.tokens[min(self.index + 1, self.tokens.count - 1)].token }
    var column: Int { self.tokens[self.index].column }

    mutating func advance() {
        if self.index < self.tokens.count - 1 { self.index += 1 }
    }

    func isWord(_ words: String...) -> Bool {
        guard case .word(let word) = self.token else { return false }
        return words.contains(word.uppercased())
    }

    mutating func take(sign: String) -> Bool {
        guard self.token == .sign(sign) else { return false }
        self.advance()
        return true
    }

    mutating func expect(sign: String) throws(PredicateSyntaxError) {
        guard self.take(sign: sign) else { throw self.unexpected("'\(sign)'") }
    }

    /// Takes the sign that closes the bracket at a column.
    mutating func expect(sign: String, closing column: Int) throws(PredicateSyntaxError) {
        guard self.take(sign: sign) else {
            throw self.unexpected("'\(sign)'", "it closes the bracket of column \(column)")
        }
    }

    // MARK: Connectives

    /// Reads the predicate of a SUBQUERY, up to the bracket that closes it.
    mutating func condition(of entity: EntityDescription, _ variable: String) throws(PredicateSyntaxError)
        -> FetchPredicate
    {
        let outer = self.entity
        self.entity = entity
        self.variables.append(variable)
        let program = try self.disjunction().program
        self.variables.removeLast()
        self.entity = outer
        return program
    }

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
        try self.refuseKeywordAsName()
        if self.isWord("NOT") || self.token == .sign("!") {
            self.advance()
            return .not(try self.negation())
        }
        let start = self.column
        if self.take(sign: "(") {
            let tree = try self.disjunction()
            try self.expect(sign: ")", closing: start)
            return tree
        }
        self.partCount += 1
        guard self.partCount <= Limits.predicateNodesMax else {
            // Before the rest of a long text is read.
            throw self.error(
                "the predicate has over \(Limits.predicateNodesMax) parts: leave some out, or use IN for many values"
            )
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
        if self.beginsLiteral {
            try self.refuseKeywordAsName()
            let literal = try self.literal()
            let column = self.column
            let (symbol, folding) = try self.operation(nil)
            guard let turned = symbol.turned else { throw self.valueFirst(literal, symbol, at: column) }
            let path = try self.path(quantifier)
            return try self.comparison(quantifier, path, turned, folding, [literal], at: start)
        }
        let path = try self.path(quantifier)
        let column = self.column
        let (symbol, folding) = try self.operation(path)
        switch symbol {
        case .isIn where self.isWord("SUBTREE"):
            guard self.variables.isEmpty else { throw self.error("SUBTREE cannot be inside a SUBQUERY") }
            guard path.path == PropertyPath(leaf: .object), quantifier == .one else {
                throw self.error("only SELF can be in a sub-tree: write SELF IN SUBTREE(id)", at: column)
            }
            guard folding.isEmpty else {
                throw self.error("[c] and [d] are for text: write SELF IN SUBTREE(id)", at: column)
            }
            return try self.subtree()
        case .isIn:
            return try self.comparison(quantifier, path, symbol, folding, try self.list(), at: start)
        case .between:
            guard self.token == .sign("{") || self.token == .sign("(") else {
                throw self.unexpected("a list of two values, like BETWEEN {1, 10},")
            }
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
        for literal in literals {
            var value = try literal.value(for: path, self.dates)
            if symbol == .like, case .string(let pattern) = value {
                guard !LikeText.isSQL(pattern) else {
                    throw self.error(
                        "LIKE has * for any text, not %: write \(FetchPredicate.quoted(pattern.replacing("%", with: "*"))), "
                            + "or \\% for a percent sign",
                        at: literal.column
                    )
                }
                value = .string(LikeText.canonical(pattern))
            }
            try literal.checkLength(value)
            values.append(value)
        }
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

    /// `path`: what is on the left, for the fault; `nil` if it is a value.
    private mutating func operation(_ path: ResolvedPath?) throws(PredicateSyntaxError)
        -> (Comparison.Operator, TextFolding)
    {
        let symbol: Comparison.Operator
        switch self.token {
        case .sign("=="), .sign("="): symbol = .equal
        case .sign("!="), .sign("<>"): symbol = .notEqual
        case .sign("<"): symbol = .less
        case .sign("<="), .sign("=<"): symbol = .lessOrEqual
        case .sign(">"): symbol = .greater
        case .sign(">="), .sign("=>"): symbol = .greaterOrEqual
        case .word(let word):
            guard let found = PredicateWords.operators[word.uppercased()] else { throw self.noOperator(path) }
            symbol = found
        default:
            throw self.noOperator(path)
        }
        self.advance()
        return (symbol, try self.folding())
    }

    private mutating func folding() throws(PredicateSyntaxError) -> TextFolding {
        let start = self.column
        guard self.take(sign: "[") else { return [] }
        guard case .word(let letters) = self.token else { throw self.unexpected("c, d or cd") }
        var folding: TextFolding = []
        for letter in letters.lowercased() {
            switch letter {
            case "c": folding.insert(.caseInsensitive)
            case "d": folding.insert(.diacriticInsensitive)
            default:
                throw self.error("[\(letters)] is not supported: [c] ignores case, [d] diacritics, [cd] both")
            }
        }
        self.advance()
        try self.expect(sign: "]", closing: start)
        return folding
    }
}
