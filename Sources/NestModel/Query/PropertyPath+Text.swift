/// Property paths as text.
extension PropertyPath {
    /// Reads `name`, `user.name` or `children.@count`, with the names of an entity of a model. `column`: where the text
    /// begins, for errors.
    public init(
        _ text: some StringProtocol,
        of entity: EntityDescription,
        in model: ManagedObjectModel,
        column: Int = 1
    ) throws(PredicateSyntaxError) {
        var resolver = PathResolver(entity, model)
        var column = column
        for name in text.split(separator: ".", omittingEmptySubsequences: false) {
            let isCount = name.first == "@"
            if let fault = isCount ? resolver.count(String(name.dropFirst())) : resolver.follow(String(name)) {
                throw PredicateSyntaxError(column: column, message: fault)
            }
            column += name.unicodeScalars.count + 1
        }
        switch resolver.finish(.one) {
        case .success(let resolved): self = resolved.path
        case .failure(let fault): throw PredicateSyntaxError(column: column, message: fault.text)
        }
    }

    /// Returns the path's names, as a request writes them.
    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        var names: [String] = []
        var entity: EntityDescription? = entity
        for step in self.steps {
            names.append(entity?.propertyName(step) ?? "#\(step.rawValue)")
            entity = (entity?.relationship(step)?.destination).flatMap { model.entity($0) }
        }
        switch self.leaf {
        case .object: if self.steps.isEmpty { names.append("SELF") }
        case .attribute(let property): names.append(entity?.propertyName(property) ?? "#\(property.rawValue)")
        case .count(let property): names += [entity?.propertyName(property) ?? "#\(property.rawValue)", "@count"]
        }
        return names.joined(separator: ".")
    }

    /// Returns the type of the path's last attribute; `nil` for an object or a count, or if the path is invalid.
    public func attributeType(of entity: EntityDescription, in model: ManagedObjectModel) -> AttributeType? {
        var entity: EntityDescription? = entity
        for step in self.steps { entity = (entity?.relationship(step)?.destination).flatMap { model.entity($0) } }
        guard case .attribute(let property) = self.leaf else { return nil }
        return entity?.attribute(property)?.type
    }
}

extension [OrderingTerm] {
    /// Reads `name:ci,-createdAt,user.name`: paths, with `-` before descending ones, and with `:c`, `:d` or `:cd` after
    /// texts whose case or diacritics to ignore (`:ci` is `:c`). `order` is the order of the relationship.
    public init(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        self = []
        var column = 1
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            self.append(try OrderingTerm(item, column, entity, model))
            column += item.unicodeScalars.count + 1
        }
    }
}

extension OrderingTerm {
    fileprivate init(
        _ item: Substring,
        _ column: Int,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        let parts = item.filter { $0 != " " }.split(separator: ":", omittingEmptySubsequences: false)
        var name = parts.first ?? ""
        var folding: TextFolding = []
        if parts.count > 1 {
            switch parts[1] {
            case "c" where parts.count == 2, "ci" where parts.count == 2: folding = .caseInsensitive
            case "d" where parts.count == 2: folding = .diacriticInsensitive
            case "cd" where parts.count == 2: folding = [.caseInsensitive, .diacriticInsensitive]
            default:
                throw PredicateSyntaxError(
                    column: column + name.unicodeScalars.count,
                    message: "after a colon write c (ignore case), d (ignore diacritics) or cd"
                )
            }
        }
        let isAscending = name.first != "-"
        if name.first == "-" || name.first == "+" { name = name.dropFirst() }
        let isAttribute = entity.attributes.contains { $0.name.hasSameBytes(as: String(name)) }
        if name == "order", !isAttribute {
            self.init(key: .order, isAscending: isAscending, folding: folding)
        } else {
            let path = try PropertyPath(name, of: entity, in: model, column: column)
            self.init(key: .path(path), isAscending: isAscending, folding: folding)
        }
    }
}

extension SectionKey {
    /// Reads `name`, `firstCharacter(name)`, `day(createdAt)`, `month(…)` or `year(…)`.
    public init(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        let text = text.filter { $0 != " " }
        guard let open = text.firstIndex(of: "(") else {
            self.init(.value, of: try PropertyPath(text, of: entity, in: model))
            return
        }
        let name = text[..<open]
        guard let function = Function.allCases.first(where: { $0.name == name }), text.last == ")" else {
            let names = Function.allCases.dropFirst().map { "\($0.name)(…)" }.joined(separator: ", ")
            throw PredicateSyntaxError(column: 1, message: "a section key is a property or one of \(names)")
        }
        let inner = text[text.index(after: open)...].dropLast()
        self.init(function, of: try PropertyPath(inner, of: entity, in: model, column: name.unicodeScalars.count + 2))
    }

    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        let path = self.path.text(of: entity, in: model)
        return self.function == .value ? path : "\(self.function.name)(\(path))"
    }
}
