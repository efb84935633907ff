/// What is wrong with a predicate's text, and what to write instead.
extension PredicateParser {
    func error(_ message: String, at column: Int? = nil) -> PredicateSyntaxError {
        PredicateSyntaxError(column: column ?? self.column, message: message)
    }

    func unexpected(_ wanted: String, _ hint: String? = nil) -> PredicateSyntaxError {
        self.error("\(wanted) is expected here, not \(self.token.description)" + (hint.map { ": \($0)" } ?? ""))
    }

    func hasProperty(_ name: String) -> Bool { self.entity.propertyNames.contains { $0.hasSameBytes(as: name) } }

    // MARK: Names

    /// Refuses a keyword that is probably meant as the property of that name.
    func refuseKeywordAsName() throws(PredicateSyntaxError) {
        guard case .word(let word) = self.token, self.hasProperty(word) else { return }
        let name = word.uppercased()
        guard PredicateWords.reserved.contains(name), name != "SELF" else { return }
        let isName: Bool =
            switch self.next {
            case .sign(let sign): ["==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "."].contains(sign)
            case .word(let next): PredicateWords.operators[next.uppercased()] != nil
            default: false
            }
        guard isName else { return }
        throw self.error("'\(word)' is a keyword: write #\(word) for the property")
    }

    func noProperty(of entity: EntityDescription) -> PredicateSyntaxError {
        switch self.token {
        case .sign("{"): self.unexpected("a property of \(entity.name)", "write the list to the right of IN")
        case .sign("(") where self.isAfterQuantifier:
            self.unexpected("a property of \(entity.name)", "write ANY, ALL or NONE within the parentheses")
        default: self.unexpected("a property of \(entity.name)")
        }
    }

    /// The fault of a path in a SUBQUERY that does not begin with its variable.
    func noVariable(_ variable: String) -> PredicateSyntaxError {
        switch self.token {
        case .variable(let name) where self.variables.contains(name):
            self.error(
                "$\(name) is the variable of an outer SUBQUERY: the conditions here are about $\(variable) alone"
            )
        case .variable(let name): self.error("there is no variable $\(name): write $\(variable)")
        case .word(let name), .name(let name):
            self.error("a path in this SUBQUERY begins with its variable: write $\(variable).\(name)")
        default: self.unexpected("$\(variable) or a path from it")
        }
    }

    private var isAfterQuantifier: Bool {
        guard self.index > 0, case .word(let word) = self.tokens[self.index - 1].token else { return false }
        return ["ANY", "SOME", "ALL", "NONE"].contains(word.uppercased())
    }

    /// The fault of `name(`, which is no property.
    func functionFault(_ name: String, _ resolver: PathResolver) -> String? {
        guard self.next == .sign("("), !resolver.entity.propertyNames.contains(where: { $0.hasSameBytes(as: name) })
        else { return nil }
        let hint =
            PredicateWords.instead(ofFunction: name) ?? "a comparison begins with a property of \(self.entity.name)"
        return "there is no function \(name) of a property: \(hint)"
    }

    // MARK: Operators

    func noOperator(_ path: ResolvedPath?) -> PredicateSyntaxError {
        let name = path?.text ?? "…"
        let wanted = "an operator like == or CONTAINS"
        if case .word(let word) = self.token {
            switch word.uppercased() {
            case "IS":
                let isNegated = if case .word(let next) = self.next { next.uppercased() == "NOT" } else { false }
                let isTruth = if case .attribute(.boolean)? = path?.type { true } else { false }
                let value = isTruth ? "YES, NO or nil" : "nil"
                return self.error("write \(name) \(isNegated ? "!=" : "==") \(value)")
            case "NOT":
                let symbol = if case .word(let next) = self.next { next.uppercased() } else { "IN" }
                return self.error("write NOT before the comparison: NOT \(name) \(symbol) …")
            case "SUBTREE": return self.error("write SELF IN SUBTREE(id)")
            case let foreign:
                if let own = PredicateWords.foreignOperators[foreign] { return self.error("write \(own), not \(word)") }
            }
        }
        switch (self.token, path?.type) {
        case (.sign("-"), _), (.sign("+"), _): return self.unexpected(wanted, "there is no arithmetic")
        case (_, .attribute(.boolean)): return self.unexpected(wanted, "write \(name) == YES or \(name) == NO")
        case (_, .object): return self.unexpected(wanted, "compare with an id or with nil, like \(name) != nil")
        default: return self.unexpected(wanted)
        }
    }

    /// The fault of an operator that does not allow a value on its left.
    func valueFirst(
        _ literal: PredicateLiteral,
        _ symbol: Comparison.Operator,
        at column: Int
    ) -> PredicateSyntaxError {
        let hint =
            if symbol == .isIn, case .text(let text) = literal.kind {
                ": for a part of a text write name CONTAINS \(FetchPredicate.quoted(text))"
            } else {
                ""
            }
        return self.error("write the property to the left of \(symbol.text)\(hint)", at: column)
    }

    // MARK: Values

    var noValue: PredicateSyntaxError {
        switch self.token {
        case .sign("="): self.unexpected("a value", "write == for equal")
        case .sign("{"): self.unexpected("a value", "write IN before a list")
        case .sign("("): self.unexpected("a value", "write IN before a list; there is no arithmetic")
        case .name(let name): self.noValue(name)
        case .variable where self.variables.isEmpty:
            self.unexpected("a value", "there are no variables: write the value itself")
        case .variable: self.unexpected("a value", "a path is on one side only")
        default: self.unexpected("a value")
        }
    }

    func noValue(_ word: String) -> PredicateSyntaxError {
        if self.next == .sign("(") {
            let hint =
                PredicateWords.instead(ofFunction: word)
                ?? "values are written date(\"…\"), uuid(\"…\") and data(\"…\")"
            return self.error("there is no function \(word): \(hint)")
        }
        if word.uppercased() == "SELF" { return self.error("a value is expected here: write the object's id") }
        if self.hasProperty(word) {
            return self.error(
                "'\(word)' is a property: compare with a value, like 5, or with a text in quotation marks"
            )
        }
        return self.error("'\(word)' is not a value; put texts in quotation marks")
    }

    var unexpectedAfterComparison: PredicateSyntaxError {
        let hint: String? =
            switch self.token {
            case .sign(")"), .sign("}"), .sign("]"): "no bracket is open"
            case .sign("-"), .sign("+"): "there is no arithmetic: write the result"
            case .word(let word) where word.uppercased() == "ORDER": "the order is not a part of the predicate"
            case .word(let word) where word.uppercased() == "LIMIT": "the window is not a part of the predicate"
            default: nil
            }
        return self.unexpected("AND, OR or the end", hint)
    }
}

extension EntityDescription {
    var propertyNames: [String] { self.attributes.map(\.name) + self.relationships.map(\.name) }
}
