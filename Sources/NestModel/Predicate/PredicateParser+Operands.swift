/// Paths, sub-trees and values.
extension PredicateParser {
    // MARK: Paths

    mutating func path(_ quantifier: Comparison.Quantifier) throws(PredicateSyntaxError) -> ResolvedPath {
        let column = self.column
        if self.isWord("SUBQUERY"), self.next == .sign("("), !self.hasProperty("SUBQUERY") {
            return try self.subquery(quantifier)
        }
        var resolver = PathResolver(self.entity, self.model, .tested)
        if try self.takeObject() { return try self.resolved(resolver.object(quantifier), at: column) }
        try self.follow(&resolver, isCollection: false)
        guard self.token != .sign("@") else { throw self.error("write a point before @, like phones.@count") }
        return try self.resolved(resolver.finish(quantifier), at: column)
    }

    /// Takes the object with which a path begins: `SELF`, or the variable of a SUBQUERY. Returns whether the path is
    /// the object itself, and nothing follows.
    private mutating func takeObject() throws(PredicateSyntaxError) -> Bool {
        if let variable = self.variables.last {
            guard self.token == .variable(variable) else { throw self.noVariable(variable) }
            self.advance()
            return !self.take(sign: ".")
        }
        if case .variable(let name) = self.token {
            throw self.error(
                "there is no variable $\(name) here: a SUBQUERY has one, "
                    + "like SUBQUERY(phones, $p, $p.number != nil).@count > 0"
            )
        }
        guard self.isWord("SELF") else { return false }
        self.advance()
        guard self.token != .sign(".") else {
            throw self.error(
                self.hasProperty("self")
                    ? "SELF is the object: write #self for the property"
                    : "a path begins with a property, not with SELF"
            )
        }
        return true
    }

    /// Reads the names of a path. `isCollection`: it is the collection of a SUBQUERY, which has no `@count`.
    private mutating func follow(_ resolver: inout PathResolver, isCollection: Bool) throws(PredicateSyntaxError) {
        repeat {
            let isCount = !isCollection && self.take(sign: "@")
            let name: String
            switch self.token {
            case .word(let word): name = word
            case .name(let word) where !isCount: name = word
            default: throw self.noProperty(of: resolver.entity)
            }
            if !isCount, let fault = self.functionFault(name, resolver) { throw self.error(fault) }
            if isCount, name != "count", !self.variables.isEmpty {
                throw self.error("@\(name) cannot be inside a SUBQUERY: only @count")
            }
            let fault = isCount ? resolver.collect(name) : resolver.follow(name)
            if let fault { throw self.error(fault) }
            self.advance()
        } while self.take(sign: ".")
    }

    /// Reads `SUBQUERY(collection, $x, predicate).@count`.
    private mutating func subquery(_ quantifier: Comparison.Quantifier) throws(PredicateSyntaxError) -> ResolvedPath {
        let column = self.column
        guard self.variables.count < Limits.subqueryDepthMax else {
            throw self.error("SUBQUERYs are nested at most \(Limits.subqueryDepthMax) deep")
        }
        self.advance()
        let open = self.column
        self.advance()
        let start = self.column
        var resolver = PathResolver(self.entity, self.model, .tested)
        guard try !self.takeObject() else {
            throw self.error("SUBQUERY is of a to-many relationship, like phones", at: start)
        }
        try self.follow(&resolver, isCollection: true)
        // The collection is checked before the predicate is read, because the predicate's names are those of its
        // objects.
        var checked = resolver
        if let fault = checked.collect(where: .everything, quantifier) { throw self.error(fault, at: start) }
        guard self.take(sign: ",") else { throw self.unexpected("','", "write SUBQUERY(phones, $p, …)") }
        guard case .variable(let variable) = self.token else {
            throw self.unexpected("a variable like $p", "it stands for each object")
        }
        guard !self.variables.contains(variable) else {
            throw self.error("$\(variable) is the variable of the SUBQUERY around this one: choose another name")
        }
        self.advance()
        guard self.take(sign: ",") else { throw self.unexpected("','", "the predicate follows the variable") }
        let predicate = try self.condition(of: resolver.entity, variable)
        try self.expect(sign: ")", closing: open)
        guard self.take(sign: "."), self.take(sign: "@"), self.token == .word("count") else {
            throw self.unexpected(".@count", "write SUBQUERY(…).@count > 0")
        }
        self.advance()
        if let fault = resolver.collect(where: predicate, quantifier) { throw self.error(fault, at: column) }
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

    /// Reads `SUBTREE(id, relationship)`.
    mutating func subtree() throws(PredicateSyntaxError) -> PredicateTree {
        self.advance()
        let open = self.column
        guard self.take(sign: "(") else { throw self.unexpected("'('", "write SELF IN SUBTREE(id)") }
        guard case .number(let digits) = self.token, let id = Int64(digits), id > 0, id <= Limits.objectIDMax else {
            throw self.unexpected("the id of an object")
        }
        self.advance()
        let candidates = self.entity.relationships.filter { self.model.hasSubtrees(of: self.entity, by: $0) }
        var relationship = candidates.count == 1 ? candidates[0] : nil
        if self.take(sign: ",") {
            let named: RelationshipDescription? =
                switch self.token {
                case .word(let name), .name(let name): candidates.first { $0.name.hasSameBytes(as: name) }
                default: nil
                }
            guard let named else {
                let names = candidates.map(\.name).joined(separator: ", ")
                throw self.unexpected(
                    "a to-many relationship of \(self.entity.name) to itself",
                    names.isEmpty ? "there is none" : "write \(names)"
                )
            }
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
        try self.expect(sign: ")", closing: open)
        let values: [AttributeValue] = [.reference(ObjectID(id)), .integer(Int64(relationship.number.rawValue))]
        return .comparison(Comparison(path: PropertyPath(leaf: .object), operator: .inSubtree, values: values))
    }

    // MARK: Values

    /// Whether the token begins a value and not a path. The words for moments are properties if the entity has such.
    var beginsLiteral: Bool {
        switch self.token {
        case .number, .text, .date, .sign("-"), .sign("+"): return true
        case .variable: return self.isOpenValue
        case .word(let word):
            let isCall = self.next == .sign("(")
            if isCall, PredicateWords.functions.contains(word.uppercased()) { return true }
            if DateReading.Word(word) != nil { return isCall || !self.hasProperty(word) }
            return PredicateWords.values.contains(word.uppercased())
        default: return false
        }
    }

    /// Whether the token is a variable of a named request.
    private var isOpenValue: Bool {
        guard self.hasOpenValues, case .variable(let name) = self.token else { return false }
        return !self.variables.contains(name)
    }

    mutating func list() throws(PredicateSyntaxError) -> [PredicateLiteral] {
        let open = self.column
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
        try self.expect(sign: end, closing: open)
        return literals
    }

    mutating func literal() throws(PredicateSyntaxError) -> PredicateLiteral {
        let column = self.column
        var sign = ""
        var isSigned = true
        if self.take(sign: "-") { sign = "-" } else if !self.take(sign: "+") { isSigned = false }
        switch self.token {
        case .number(let number):
            self.advance()
            return PredicateLiteral(kind: .number(sign + number), column: column)
        case .text(let text) where !isSigned:
            self.advance()
            return PredicateLiteral(kind: .text(text), column: column)
        case .date(let text) where !isSigned:
            self.advance()
            return PredicateLiteral(
                kind: .value(.date(try PredicateLiteral.date(text, self.dates, text: column))),
                column: column
            )
        case .word(let word) where !isSigned:
            return try self.literal(word, at: column)
        case .variable where !isSigned && self.isOpenValue:
            self.advance()
            return PredicateLiteral(kind: .open, column: column)
        default:
            throw self.noValue
        }
    }

    private mutating func literal(_ word: String, at column: Int) throws(PredicateSyntaxError) -> PredicateLiteral {
        let name = word.uppercased()
        switch name {
        case "NIL", "NULL":
            self.advance()
            return PredicateLiteral(kind: .null, column: column)
        case "YES", "TRUE", "NO", "FALSE":
            self.advance()
            return PredicateLiteral(kind: .boolean(name == "YES" || name == "TRUE"), column: column)
        default:
            break
        }
        if let moment = DateReading.Word(word) {
            self.advance()
            let open = self.column
            if self.take(sign: "(") { try self.expect(sign: ")", closing: open) }
            return PredicateLiteral(kind: .value(.date(self.dates.microseconds(moment))), column: column)
        }
        guard PredicateWords.functions.contains(name) else { throw self.noValue(word) }
        self.advance()
        let open = self.column
        try self.expect(sign: "(")
        guard case .text(let text) = self.token else { throw self.unexpected("a text in quotation marks") }
        let textColumn = self.column
        self.advance()
        try self.expect(sign: ")", closing: open)
        return try PredicateLiteral(function: name, text, self.dates, text: textColumn, column: column)
    }
}
