import NestModel

/// Reads indexes and uniqueness constraints as Xcode writes them.
extension CoreDataModelReader {
    /// Uniqueness constraints, fetch indexes, and the compound indexes of Xcode 5 to 8.
    mutating func addIndexes(of element: XMLElement, to entity: inout EntityDraft) {
        for list in element.children("uniquenessConstraints") {
            self.warnings += CoreDataVocabulary.warnings(about: list, at: entity.name)
            for constraint in list.children("uniquenessConstraint") {
                self.warnings += CoreDataVocabulary.warnings(about: constraint, at: entity.name)
                self.addConstraint(constraint.children("constraint").compactMap { $0.text("value") }, to: &entity)
            }
        }
        for list in element.children("compoundIndexes") {
            self.warnings += CoreDataVocabulary.warnings(about: list, at: entity.name)
            for index in list.children("compoundIndex") {
                self.warnings += CoreDataVocabulary.warnings(about: index, at: entity.name)
                self.addIndex(index.children("index").compactMap { $0.text("value") }, "a compound index", to: &entity)
            }
        }
        for index in element.children("fetchIndex") { self.addFetchIndex(index, to: &entity) }
    }

    private mutating func addConstraint(_ properties: [String], to entity: inout EntityDraft) {
        let omitted = properties.first { self.omissions.reason(for: $0, in: entity.name) != nil }
        if let omitted {
            let names = properties.joined(separator: ", ")
            self.warnings.append("\(entity.name): the uniqueness constraint on \(names) is left out, as \(omitted) is")
        } else if !properties.isEmpty, !entity.uniquenessConstraints.contains(properties) {
            entity.uniquenessConstraints.append(properties)
        }
    }

    private mutating func addFetchIndex(_ element: XMLElement, to entity: inout EntityDraft) {
        let title = "the fetch index \(element.text("name") ?? "without a name")"
        self.warnings += CoreDataVocabulary.warnings(about: element, at: "\(entity.name), \(title)")
        if element.text("partialIndexPredicate") ?? element.text("predicate") != nil {
            self.warnings.append("\(entity.name): \(title) contains every object: its predicate is ignored")
        }
        var properties: [String] = []
        var orders: Set<String> = []
        for part in element.children("fetchIndexElement") {
            self.warnings += CoreDataVocabulary.warnings(about: part, at: "\(entity.name), \(title)")
            guard let property = part.text("property") else {
                let expression = part.text("expression").map { " (\($0))" } ?? ""
                self.warnings.append(
                    "\(entity.name): \(title) is left out: nest does not support indexes of expressions\(expression)"
                )
                return
            }
            if let type = part.text("type"), type != "Binary" {
                self.warnings.append(
                    "\(entity.name): \(title) is a plain index of \(property), not one of the type \(type)"
                )
            }
            orders.insert(part.text("order") ?? "ascending")
            properties.append(property)
        }
        if orders.count > 1 {
            self.warnings.append("\(entity.name): \(title) is ascending throughout: nest does not support mixed orders")
        }
        self.addIndex(properties, title, to: &entity)
    }

    private mutating func addIndex(_ properties: [String], _ title: String, to entity: inout EntityDraft) {
        // Every relationship has an index of its own.
        if properties.count == 1, self.omissions.isToMany(properties[0], in: entity.name) != nil { return }
        let kept = properties.filter {
            self.omissions.reason(for: $0, in: entity.name) == nil
                && self.omissions.isToMany($0, in: entity.name) != true
        }
        if kept.count < properties.count {
            let names = properties.filter { !kept.contains($0) }.joined(separator: ", ")
            self.warnings.append("\(entity.name): \(title) is made without \(names): no table has a column for that")
        }
        if !kept.isEmpty, !entity.indexes.contains(kept) { entity.indexes.append(kept) }
    }
}
