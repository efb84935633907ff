/// Property paths as text.
extension PropertyPath {
    /// Reads `name`, `user.name`, `children.@count` or `phones.@sum.minutes`, with the names of an entity of a model.
    /// `column`: where the text begins, for errors.
    public init(
        _ text: some StringProtocol,
        of entity: EntityDescription,
        in model: ManagedObjectModel,
        column: Int = 1
    ) throws(PredicateSyntaxError) {
        try self.init(TextPart(Substring(text), column: column), of: entity, in: model)
    }

    init(
        _ part: TextPart,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        var resolver = PathResolver(entity, model, .read)
        for name in part.split(".") {
            guard !name.text.contains(" ") else {
                throw PredicateSyntaxError(
                    column: name.column,
                    message: "'\(name.text)' is not a property: write commas between properties"
                )
            }
            let isCount = name.text.first == "@"
            // A predicate writes `#name` for a property that is named like a keyword.
            let isMarked = name.text.first == "#"
            let text = String(isCount || isMarked ? name.text.dropFirst() : name.text)
            if let fault = isCount ? resolver.collect(text) : resolver.follow(text) {
                throw PredicateSyntaxError(column: name.column, message: fault)
            }
        }
        switch resolver.finish(.one) {
        case .success(let resolved): self = resolved.path
        case .failure(let fault): throw PredicateSyntaxError(column: part.column, message: fault.text)
        }
    }

    /// Returns the path's names, as a request writes them.
    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        var names: [String] = []
        let start = entity
        var entity: EntityDescription? = entity
        for step in self.steps {
            names.append(entity?.propertyName(step) ?? "#\(step.rawValue)")
            entity = (entity?.relationship(step)?.destination).flatMap { model.entity($0) }
        }
        switch self.leaf {
        case .countWhere:
            return PredicatePrinter(entity: start, model: model).path(self).text
        case .object: if self.steps.isEmpty { names.append("SELF") }
        case .attribute(let property): names.append(entity?.propertyName(property) ?? "#\(property.rawValue)")
        case .count(let property): names += [entity?.propertyName(property) ?? "#\(property.rawValue)", "@count"]
        case .aggregate(let function, let property, let attribute):
            names += [entity?.propertyName(property) ?? "#\(property.rawValue)", "@\(function.name)"]
            entity = (entity?.relationship(property)?.destination).flatMap { model.entity($0) }
            names.append(entity?.propertyName(attribute) ?? "#\(attribute.rawValue)")
        }
        return names.joined(separator: ".")
    }

    /// Returns the type of the path's last attribute, or of the function of it; `nil` for an object or a count, or if
    /// the path is invalid.
    public func attributeType(of entity: EntityDescription, in model: ManagedObjectModel) -> AttributeType? {
        switch self.leaf {
        case .object, .count, .countWhere: return nil
        case .attribute(let property):
            return self.end(of: entity, in: model)?.attribute(property)?.type
        case .aggregate(let function, _, _):
            return self.aggregatedType(of: entity, in: model).flatMap { function.type(of: $0) }
        }
    }

    /// Returns the type of the values that the path's function takes; `nil` if it has none, or is invalid.
    package func aggregatedType(of entity: EntityDescription, in model: ManagedObjectModel) -> AttributeType? {
        guard case .aggregate(_, let relationship, let attribute) = self.leaf,
            let list = self.end(of: entity, in: model)?.relationship(relationship)
        else { return nil }
        return model.entity(list.destination)?.attribute(attribute)?.type
    }

    /// Returns the entity of the objects that the steps lead to.
    private func end(of entity: EntityDescription, in model: ManagedObjectModel) -> EntityDescription? {
        self.steps.reduce(entity) { here, step in
            (here?.relationship(step)?.destination).flatMap { model.entity($0) }
        }
    }
}

extension [OrderingTerm] {
    /// Reads `name:c,-createdAt,user.name`: paths, with `-` before descending ones, and with `:c`, `:d` or `:cd` after
    /// texts whose case or diacritics to ignore (`:ci` is `:c`). `order` is the order of the relationship.
    public init(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        self = []
        for item in TextPart(text[...]).split(",") {
            guard self.count < Limits.sortKeysMax else {
                throw PredicateSyntaxError(
                    column: item.column,
                    message: "a request has at most \(Limits.sortKeysMax) sort keys"
                )
            }
            self.append(try OrderingTerm(item, entity, model))
        }
    }
}

extension OrderingTerm {
    fileprivate init(
        _ item: TextPart,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        let parts = item.split(":")
        let isAscending = parts[0].text.first != "-"
        let isSigned = !isAscending || parts[0].text.first == "+"
        let path = isSigned ? parts[0].dropFirst : parts[0]
        guard !path.text.isEmpty else {
            throw PredicateSyntaxError(column: path.column, message: "a sort key is missing: write a path like name")
        }
        let words = path.split(" ")
        for word in words.dropFirst().suffix(1) + parts.dropFirst() where Self.isDirection(word.text) {
            throw PredicateSyntaxError(
                column: word.column,
                message: "write -\(words[0].text) for descending order, and \(words[0].text) for ascending"
            )
        }
        var folding: TextFolding = []
        if parts.count > 1 {
            switch parts.count == 2 ? parts[1].text : "" {
            case "c", "ci": folding = .caseInsensitive
            case "d": folding = .diacriticInsensitive
            case "cd": folding = [.caseInsensitive, .diacriticInsensitive]
            default:
                throw PredicateSyntaxError(
                    column: parts[1].start - 1,
                    message: "after a colon write c (ignore case), d (ignore diacritics) or cd (both)"
                )
            }
        }
        let isAttribute = entity.attributes.contains { $0.name.hasSameBytes(as: String(path.text)) }
        if path.text == "order", !isAttribute {
            self.init(key: .order, isAscending: isAscending, folding: folding)
        } else {
            let path = try PropertyPath(path, of: entity, in: model)
            self.init(key: .path(path), isAscending: isAscending, folding: folding)
        }
    }

    private static func isDirection(_ word: Substring) -> Bool {
        ["asc", "ascending", "desc", "descending"].contains(word.lowercased())
    }
}

extension SectionKey {
    /// Reads `name`, `firstCharacter(name)`, `day(createdAt)`, `month(…)` or `year(…)`.
    public init(
        _ text: String,
        of entity: EntityDescription,
        in model: ManagedObjectModel
    ) throws(PredicateSyntaxError) {
        let part = TextPart(text[...])
        guard let open = part.text.firstIndex(of: "(") else {
            self.init(.value, of: try PropertyPath(part, of: entity, in: model))
            return
        }
        let name = TextPart(part.text[..<open], column: part.column)
        guard let function = Function.allCases.first(where: { $0.name == name.text }), part.text.last == ")" else {
            let names = Function.allCases.dropFirst().map { "\($0.name)(…)" }.joined(separator: ", ")
            throw PredicateSyntaxError(
                column: part.column,
                message: "a section key is a property or one of \(names)"
            )
        }
        let inner = part.text[part.text.index(after: open)...].dropLast()
        let column = part.column + part.text[...open].unicodeScalars.count
        self.init(function, of: try PropertyPath(TextPart(inner, column: column), of: entity, in: model))
    }

    public func text(of entity: EntityDescription, in model: ManagedObjectModel) -> String {
        let path = self.path.text(of: entity, in: model)
        return self.function == .value ? path : "\(self.function.name)(\(path))"
    }
}
