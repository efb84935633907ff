import NestModel

/// Parses a part of a request. An error shows the text with a mark below the source location.
func pointing<Result>(
    at text: String,
    _ body: () throws(PredicateSyntaxError) -> Result
) throws -> Result {
    do {
        return try body()
    } catch {
        throw CommandFailure.pointing(at: text, error)
    }
}

extension CommandFailure {
    static func pointing(at text: String, _ error: PredicateSyntaxError) -> CommandFailure {
        let (line, before) = error.line(of: text)
        return CommandFailure(.usage, "\(error)\n  \(line)\n  \(DisplayWidth.blanks(before))^")
    }
}

extension ObjectFetchRequest {
    /// Sets the order from a text like `name:c,-createdAt,user.name`.
    mutating func setSort(_ text: String, _ entity: EntityDescription, _ model: ManagedObjectModel) throws {
        self.sort = try pointing(at: text) { () throws(PredicateSyntaxError) in
            let sort = try [OrderingTerm](text, of: entity, in: model)
            for (descriptor, item) in zip(sort, TextPart(text[...]).split(",")) {
                guard case .path(let path) = descriptor.key, path.leaf == .object else { continue }
                let name = path.text(of: entity, in: model)
                let isSigned = item.text.first == "-" || item.text.first == "+"
                throw PredicateSyntaxError(
                    column: isSigned ? item.dropFirst.column : item.column,
                    message: "\(name) is a relationship: sort by an attribute like \(name).name, or by a count"
                )
            }
            return sort
        }
    }

    /// Sets the section key from a text like `firstCharacter(name)`. If there is no order, also sorts by the key's
    /// path.
    mutating func setSection(_ text: String, _ entity: EntityDescription, _ model: ManagedObjectModel) throws {
        let section = try pointing(at: text) { () throws(PredicateSyntaxError) in
            try SectionKey(text, of: entity, in: model)
        }
        self.section = section
        if self.sort.isEmpty { self.sort = [OrderingTerm(key: .path(section.path))] }
    }

    /// Sets the properties from a text like `title,user.name,children.@count`. A value that the rows do not store
    /// becomes a column. Returns the properties in the order of the text.
    mutating func setProperties(
        _ text: String,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws -> [PropertyNumber] {
        var properties: [PropertyNumber] = []
        for item in TextPart(text[...]).split(",") {
            let property = try self.property(item, text, entity, model)
            if !properties.contains(property) { properties.append(property) }
        }
        self.projection = properties
        return properties
    }

    private mutating func property(
        _ item: TextPart,
        _ text: String,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws -> PropertyNumber {
        guard item.text.contains(".") else {
            if item.text == "entity" { return .entity }
            let property = try entity.requireProperty(String(item.text))
            guard !entity.isToMany(property) else {
                throw CommandFailure(
                    .usage,
                    "\(item.text) is a to-many relationship; use an attribute, a to-one relationship, "
                        + "or a count like \(item.text).@count"
                )
            }
            return property
        }
        let path = try pointing(at: text) { () throws(PredicateSyntaxError) in
            try PropertyPath(item.text, of: entity, in: model, column: item.column)
        }
        if let index = self.columns.firstIndex(of: path) { return .computed(index) }
        guard self.columns.count < Limits.columnsMax else {
            throw CommandFailure(.usage, "--properties takes at most \(Limits.columnsMax) paths")
        }
        self.columns.append(path)
        return .computed(self.columns.count - 1)
    }
}

extension PredicateSyntaxError {
    /// Returns the line of the text that has the error, and the part of it before the error.
    func line(of text: String) -> (line: String, before: String) {
        let scalars = Array(text.unicodeScalars)
        let index = min(max(self.column - 1, 0), scalars.count)
        let start = scalars[..<index].lastIndex(of: "\n").map { $0 + 1 } ?? 0
        let end = scalars[index...].firstIndex(of: "\n") ?? scalars.count
        func string(_ range: Range<Int>) -> String { String(String.UnicodeScalarView(scalars[range])) }
        return (string(start..<end), string(start..<index))
    }
}
