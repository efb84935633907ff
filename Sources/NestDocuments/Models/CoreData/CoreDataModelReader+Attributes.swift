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
            let fault =
                "nest does not check regular expressions, so '\(pattern)' would not be enforced; remove it"
            self.faults.append("\(path): \(fault)")
        }
        self.readDefault(of: element, into: &attribute, at: path)
        attribute.minimum = self.bound("min", of: element, attribute.type, at: path)
        attribute.maximum = self.bound("max", of: element, attribute.type, at: path)
        if self.flag("indexed", of: element, at: path) { entity.indexes.append([name]) }
        self.applyUserInfo(of: element, to: &attribute, in: &entity, at: path)
        return attribute
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

    private mutating func readDefault(of element: XMLElement, into attribute: inout AttributeDraft, at path: String) {
        let isTransformable = element["attributeType"] == "Transformable"
        if attribute.type == .date, let interval = element.text("defaultDateTimeInterval") {
            guard let date = CoreDataValue.date(interval: interval) else {
                self.faults.append("\(path): its default '\(interval)' is not a number of seconds since 2001")
                return
            }
            attribute.defaultValue = .date(date)
            // Old versions of Xcode also kept the words from which they had made the date.
            if element["defaultValueString"]?.lowercased() == "now" {
                self.warnings.append(
                    "\(path): its default is the fixed date of the moment when Xcode saved it; \(Self.nowHint)"
                )
            }
            return
        }
        guard let text = element["defaultValueString"] else { return }
        if let value = isTransformable ? nil : CoreDataValue.value(text, of: attribute.type) {
            attribute.defaultValue = value
        } else if !text.isEmpty {
            switch attribute.type {
            case .date:
                self.warnings.append("\(path): its default '\(text)' is not a date and is ignored; \(Self.nowHint)")
            case .data: self.warnings.append("\(path): its default '\(text)' is ignored: Core Data has none for data")
            default: self.faults.append("\(path): its default '\(text)' is not a value of the type \(attribute.type)")
            }
        }
    }

    private static let nowHint = "for the time of the insert, set nest.default to 'now' in its user info"

    /// Returns a bound of the value, or of the length of a text.
    private mutating func bound(
        _ side: String,
        of element: XMLElement,
        _ type: AttributeType,
        at path: String
    ) -> AttributeValue {
        if type == .date, let interval = element.text("\(side)DateTimeInterval") {
            guard let date = CoreDataValue.date(interval: interval) else {
                let fault = "\(side)DateTimeInterval '\(interval)' is not a number of seconds since 2001"
                self.faults.append("\(path): \(fault)")
                return .null
            }
            return .date(date)
        }
        guard let text = element.text("\(side)ValueString") else { return .null }
        let value: AttributeValue? =
            switch type {
            case .string, .uri: CoreDataValue.integer(text).map(AttributeValue.integer)
            case .boolean, .data, .uuid: .null
            default: CoreDataValue.value(text, of: type)
            }
        guard let value else {
            self.faults.append("\(path): \(side)ValueString '\(text)' is not a bound for the type \(type)")
            return .null
        }
        if value.isNull { self.warnings.append("\(path): \(side)ValueString is ignored: \(type) has no bounds") }
        return value
    }
}
