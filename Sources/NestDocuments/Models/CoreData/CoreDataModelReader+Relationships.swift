import NestModel

/// Reads relationships as Xcode writes them.
extension CoreDataModelReader {
    mutating func relationship(_ element: XMLElement, in entity: String) -> RelationshipDraft? {
        guard let name = element.text("name") else {
            self.faults.append("\(entity): a relationship has no name")
            return nil
        }
        let path = "\(entity).\(name)"
        self.warnings += CoreDataVocabulary.warnings(about: element, at: path)
        if let reason = self.omissions.reason(for: name, in: entity) {
            self.warnings.append("\(path): \(reason) is left out")
            return nil
        }
        guard let destination = element.text("destinationEntity") else {
            self.faults.append("\(path): it has no destination")
            return nil
        }
        var relationship = RelationshipDraft(
            name: name,
            destination: destination,
            inverse: element.text("inverseName") ?? ""
        )
        relationship.isOptional = self.flag("optional", of: element, at: path)
        relationship.renamedFrom = Self.renamedFrom(element)
        relationship.deleteRule = self.deleteRule(of: element, at: path)
        self.readCardinality(of: element, into: &relationship, at: path)
        self.checkInverse(of: element, destination: destination, at: path)
        if relationship.isOrdered, relationship.inverse == name,
            self.omissions.lineage(of: entity).contains(destination)
        {
            relationship.isOrdered = false
            self.warnings.append("\(path): ordered is ignored: the relationship is its own inverse")
        }
        if relationship.inverse.isEmpty {
            self.warnings.append(
                "\(path): it has no inverse and gets a hidden one: deleting \(destination) objects clears it, while Core Data "
                    + "leaves references to objects that are gone"
            )
        }
        self.warnAboutUserInfo(of: element, known: [], at: path)
        return relationship
    }

    private mutating func readCardinality(
        of element: XMLElement,
        into relationship: inout RelationshipDraft,
        at path: String
    ) {
        let isOrdered = self.flag("ordered", of: element, at: path)
        let least = self.count("minCount", of: element, at: path)
        let greatest = self.count("maxCount", of: element, at: path)
        guard self.flag("toMany", of: element, at: path) else {
            if isOrdered { self.warnings.append("\(path): ordered is ignored: the relationship is not toMany") }
            if greatest > 1 {
                self.faults.append(
                    "\(path): maxCount is \(greatest), but the relationship is not toMany; correct one of the two"
                )
            }
            return
        }
        relationship.isToMany = true
        relationship.isOrdered = isOrdered
        relationship.minimumCount = least
        relationship.maximumCount = greatest
    }

    private mutating func count(_ name: String, of element: XMLElement, at path: String) -> Int {
        guard let text = element.text(name) else { return 0 }
        guard let count = Int(text), count >= 0 else {
            self.faults.append("\(path): \(name) '\(text)' is not a count")
            return 0
        }
        return count
    }

    private mutating func deleteRule(of element: XMLElement, at path: String) -> DeleteRule {
        switch element.text("deletionRule") {
        case nil, "Nullify": return .nullify
        case "Cascade": return .cascade
        case "Deny": return .deny
        case "No Action":
            self.warnings.append(
                "\(path): the delete rule No Action is read as nullify: no relationship may refer to a deleted object"
            )
            return .nullify
        case .some(let text):
            self.faults.append("\(path): the delete rule '\(text)' is not one of Nullify, Cascade, Deny, No Action")
            return .nullify
        }
    }

    /// nest finds the inverse by its name in the destination, so the inverse's entity must be the destination or an
    /// ancestor.
    private mutating func checkInverse(of element: XMLElement, destination: String, at path: String) {
        guard let entity = element.text("inverseEntity"), !self.omissions.lineage(of: destination).contains(entity)
        else {
            return
        }
        self.faults.append("\(path): its inverse belongs to \(entity), but its destination is \(destination)")
    }
}
