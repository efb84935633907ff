import NestModel

/// Relationships, as Xcode writes them.
extension CoreDataModelReader {
    mutating func relationship(_ element: XMLElement, in entity: String) -> RelationshipDraft? {
        guard let name = element.text("name") else {
            self.faults.append("\(entity): a relationship has no name")
            return nil
        }
        let place = "\(entity).\(name)"
        self.warnings += CoreDataVocabulary.warnings(about: element, at: place)
        if let reason = self.omissions.reason(for: name, in: entity) {
            self.warnings.append("\(place): \(reason) is left out")
            return nil
        }
        guard let destination = element.text("destinationEntity") else {
            self.faults.append("\(place): it has no destination")
            return nil
        }
        var relationship = RelationshipDraft(
            name: name,
            destination: destination,
            inverse: element.text("inverseName") ?? ""
        )
        relationship.isOptional = self.flag("optional", of: element, at: place)
        relationship.renamedFrom = Self.renamedFrom(element)
        relationship.deleteRule = self.deleteRule(of: element, at: place)
        self.readCardinality(of: element, into: &relationship, at: place)
        self.checkInverse(of: element, destination: destination, at: place)
        self.warnAboutUserInfo(of: element, known: [], at: place)
        return relationship
    }

    private mutating func readCardinality(
        of element: XMLElement,
        into relationship: inout RelationshipDraft,
        at place: String
    ) {
        let isOrdered = self.flag("ordered", of: element, at: place)
        let least = self.count("minCount", of: element, at: place)
        let greatest = self.count("maxCount", of: element, at: place)
        guard self.flag("toMany", of: element, at: place) else {
            if isOrdered { self.warnings.append("\(place): ordered is ignored: it leads to one object only") }
            if greatest > 1 {
                self.faults.append(
                    "\(place): maxCount is \(greatest), but the relationship is not toMany; say which is meant"
                )
            }
            return
        }
        relationship.isToMany = true
        relationship.isOrdered = isOrdered
        relationship.minimumCount = least
        relationship.maximumCount = greatest
    }

    private mutating func count(_ name: String, of element: XMLElement, at place: String) -> Int {
        guard let text = element.text(name) else { return 0 }
        guard let count = Int(text), count >= 0 else {
            self.faults.append("\(place): \(name) '\(text)' is no count")
            return 0
        }
        return count
    }

    private mutating func deleteRule(of element: XMLElement, at place: String) -> DeleteRule {
        switch element.text("deletionRule") {
        case nil, "Nullify": return .nullify
        case "Cascade": return .cascade
        case "Deny": return .deny
        case "No Action":
            self.warnings.append(
                "\(place): the delete rule No Action is taken as nullify: nothing may lead to a deleted object"
            )
            return .nullify
        case .some(let text):
            self.faults.append("\(place): the delete rule '\(text)' is none of Nullify, Cascade, Deny, No Action")
            return .nullify
        }
    }

    /// The inverse is found by its name in the destination; a file that says another entity says two things.
    private mutating func checkInverse(of element: XMLElement, destination: String, at place: String) {
        guard let entity = element.text("inverseEntity"), !self.omissions.lineage(of: destination).contains(entity)
        else {
            return
        }
        self.faults.append("\(place): its inverse is of \(entity), its destination is \(destination)")
    }
}
