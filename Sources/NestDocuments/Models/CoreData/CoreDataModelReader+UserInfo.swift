import NestModel

/// Reads nest's own settings from the user info of a model's parts.
extension CoreDataModelReader {
    /// `nest.root`, `nest.rootObject` and `nest.label` of an entity, which Core Data does not have.
    mutating func applyUserInfo(of element: XMLElement, to entity: inout EntityDraft) {
        let entries = self.warnAboutUserInfo(
            of: element,
            known: ["nest.root", "nest.rootObject", "nest.label"],
            at: entity.name
        )
        if let label = entries["nest.label"] { entity.label = label }
        guard let relationship = entries["nest.root"] else {
            if entries["nest.rootObject"] != nil {
                self.faults.append("\(entity.name): nest.rootObject is set without nest.root, the relationship to it")
            }
            return
        }
        var object = ObjectID(1)
        if let text = entries["nest.rootObject"] {
            guard let id = Int64(text), id > 0 else {
                self.faults.append("\(entity.name): nest.rootObject '\(text)' is not an object id")
                return
            }
            object = ObjectID(id)
        }
        entity.root = (relationship, object)
    }

    /// `nest.default`, `nest.label` and `nest.large` of an attribute.
    mutating func applyUserInfo(
        of element: XMLElement,
        to attribute: inout AttributeDraft,
        in entity: inout EntityDraft,
        at path: String
    ) {
        let entries = self.warnAboutUserInfo(
            of: element,
            known: ["nest.default", "nest.label", "nest.large"],
            at: path
        )
        if let text = entries["nest.default"] {
            if text == "now" {
                attribute.defaultsToNow = true
                attribute.defaultValue = .null
            } else {
                self.faults.append("\(path): nest.default is '\(text)'; only 'now' is known")
            }
        }
        self.applyLarge(entries["nest.large"], to: &attribute, at: path)
        guard let text = entries["nest.label"] else { return }
        switch CoreDataValue.boolean(text) {
        case true?: entity.label = attribute.name
        case false?: break
        case nil: self.faults.append("\(path): nest.label is '\(text)'; YES or NO is expected at an attribute")
        }
    }

    /// `nest.large` makes a Binary or String attribute a large value.
    private mutating func applyLarge(_ text: String?, to attribute: inout AttributeDraft, at path: String) {
        guard let text else { return }
        switch CoreDataValue.boolean(text) {
        case true?:
            switch attribute.type {
            case .data: attribute.type = .largeData
            case .string: attribute.type = .largeText
            default: self.faults.append("\(path): nest.large is for Binary and String, not \(attribute.type)")
            }
        case false?: break
        case nil: self.faults.append("\(path): nest.large is '\(text)'; YES or NO is expected")
        }
    }

    /// Returns the known entries and warns about unknown ones with the prefix `nest.`; all others belong to other
    /// programs.
    @discardableResult
    mutating func warnAboutUserInfo(of element: XMLElement, known: Set<String>, at path: String) -> [String: String] {
        var entries: [String: String] = [:]
        for info in element.children("userInfo") {
            for entry in info.children("entry") {
                guard let key = entry["key"], key.hasPrefix("nest.") else { continue }
                if known.contains(key) {
                    entries[key] = entry["value"] ?? ""
                } else {
                    self.warnings.append("\(path): the user info \(key) is not known here and is ignored")
                }
            }
        }
        return entries
    }
}
