import NestModel

/// Reads attributes as Xcode writes them.
extension CoreDataModelReader {
    mutating func attribute(_ element: XMLElement, in entity: inout EntityDraft) -> AttributeDraft? {
        guard let name = element.text("name") else {
            self.faults.append("\(entity.name): an attribute has no name")
            return nil
        }
        let path = "\(entity.name).\(name)"
        self.warnings += CoreDataVocabulary.warnings(about: element, at: path)
        if let reason = self.omissions.reason(for: name, in: entity.name) {
            self.warnings.append("\(path): \(reason) is left out")
            return nil
        }
        var attribute = AttributeDraft(name: name, type: self.type(of: element, at: path))
        attribute.isOptional = self.flag("optional", of: element, at: path)
        attribute.renamedFrom = Self.renamedFrom(element)
        if let pattern = element.text("regularExpressionString") {
            self.readPattern(pattern, into: &attribute, at: path)
        }
        attribute.minimum = self.bound("min", of: element, attribute.type, at: path)
        attribute.maximum = self.bound("max", of: element, attribute.type, at: path)
        self.readDefault(of: element, into: &attribute, at: path)
        if self.flag("indexed", of: element, at: path) { entity.indexes.append([name]) }
        self.applyUserInfo(of: element, to: &attribute, in: &entity, at: path)
        return attribute
    }

    private mutating func readPattern(_ pattern: String, into attribute: inout AttributeDraft, at path: String) {
        guard attribute.type == .string || attribute.type == .uri else {
            self.warnings.append("\(path): the regular expression '\(pattern)' is ignored: it is for text")
            return
        }
        do throws(ICUPattern.Fault) {
            let translated = try ICUPattern.translated(pattern)
            guard translated.utf8.count <= Limits.patternBytesMax else {
                throw ICUPattern.Fault(text: "over \(Limits.patternBytesMax) bytes")
            }
            attribute.pattern = translated
        } catch {
            self.warnings.append(
                "\(path): nest does not check the regular expression '\(pattern)', which has \(error.text): clients have to"
            )
        }
    }

    /// Returns the type, or `string` in place of a refused one, so that the rest of the model is still checked.
    private mutating func type(of element: XMLElement, at path: String) -> AttributeType {
        let name = element.text("attributeType") ?? "Undefined"
        if let type = CoreDataValue.type(named: name) {
            if name == "Transformable" {
                self.warnings.append(
                    "\(path): Transformable is stored as data: the bytes are the archive that clients create"
                )
            }
            return type
        }
        switch name {
        case "Undefined":
            self.faults.append("\(path): an attribute without a type can only be transient; give it a type")
        case "Composite":
            self.faults.append(
                "\(path): composite attributes are not supported; use an entity or single attributes"
            )
        default:
            self.faults.append("\(path): attributes of the type \(name) are not supported")
        }
        return .string
    }
}
