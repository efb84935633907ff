import NestModel

/// Reads a part of a request from its text; what is wrong with it is shown with a mark below the place.
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
        let place = String(repeating: " ", count: max(error.column - 1, 0)) + "^"
        return CommandFailure(.usage, "\(error)\n  \(text)\n  \(place)")
    }
}

extension ObjectFetchRequest {
    /// `name:ci,-createdAt,user.name`.
    mutating func setSort(_ text: String, _ entity: EntityDescription, _ model: ManagedObjectModel) throws {
        self.sort = try pointing(at: text) { () throws(PredicateSyntaxError) in
            let sort = try [OrderingTerm](text, of: entity, in: model)
            for (descriptor, item) in zip(sort, listItems(text)) {
                guard case .path(let path) = descriptor.key, path.leaf == .object else { continue }
                let name = path.text(of: entity, in: model)
                throw PredicateSyntaxError(
                    column: item.column,
                    message: "\(name) is a relationship: sort by an attribute behind it, like \(name).name, or a count"
                )
            }
            return sort
        }
    }

    /// `firstCharacter(name)`; without an order the rows come in that of its path.
    mutating func setSection(_ text: String, _ entity: EntityDescription, _ model: ManagedObjectModel) throws {
        let section = try pointing(at: text) { () throws(PredicateSyntaxError) in
            try SectionKey(text, of: entity, in: model)
        }
        self.section = section
        if self.sort.isEmpty { self.sort = [OrderingTerm(key: .path(section.path))] }
    }

    /// `title,user.name,children.@count`: what is not stored in the rows themselves becomes a column. Answers them in the order
    /// of the text.
    mutating func setProperties(
        _ text: String,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws -> [PropertyNumber] {
        var properties: [PropertyNumber] = []
        for item in listItems(text) {
            let property = try self.property(item, text, entity, model)
            if !properties.contains(property) { properties.append(property) }
        }
        self.projection = properties
        return properties
    }

    private mutating func property(
        _ item: ListItem,
        _ text: String,
        _ entity: EntityDescription,
        _ model: ManagedObjectModel
    ) throws -> PropertyNumber {
        guard item.text.contains(".") else {
            if item.text == "entity" { return .entity }
            let property = try entity.requireProperty(item.text)
            guard !entity.isToMany(property) else {
                throw CommandFailure(
                    .usage,
                    "\(item.text) is to many; rows hold attributes, relationships to one, and counts: \(item.text).@count"
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

private struct ListItem {
    var text: String
    /// Where it begins.
    var column: Int
}

/// What commas separate.
private func listItems(_ text: String) -> [ListItem] {
    var items: [ListItem] = []
    var column = 1
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let spaces = part.prefix { $0 == " " }.count
        items.append(ListItem(text: String(part.filter { $0 != " " }), column: column + spaces))
        column += part.unicodeScalars.count + 1
    }
    return items
}
