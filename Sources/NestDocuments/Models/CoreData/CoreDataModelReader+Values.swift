import NestModel

/// Reads defaults and bounds as Xcode writes them. Xcode keeps those of an earlier type when an attribute gets another
/// type, and builds with them, so none of them makes a model unusable.
extension CoreDataModelReader {
    private static let nowHint = "for the time of the insert, set nest.default to 'now' in its user info"

    /// Reads the default. Call it after the bounds.
    mutating func readDefault(of element: XMLElement, into attribute: inout AttributeDraft, at path: String) {
        if attribute.type == .date, let interval = element.text("defaultDateTimeInterval") {
            self.keep(
                CoreDataValue.date(interval: interval).map(AttributeValue.date),
                interval,
                in: &attribute,
                at: path
            )
            // Old versions of Xcode also kept the words from which they had made the date.
            if !attribute.defaultValue.isNull, element["defaultValueString"]?.lowercased() == "now" {
                self.warnings.append(
                    "\(path): its default is the fixed date of the moment when Xcode saved it; \(Self.nowHint)"
                )
            }
            return
        }
        guard let text = element["defaultValueString"] else { return }
        if element["attributeType"] != "Transformable", let value = CoreDataValue.value(text, of: attribute.type) {
            self.keep(value, text, in: &attribute, at: path)
        } else if !text.isEmpty {
            switch attribute.type {
            case .date:
                self.warnings.append("\(path): its default '\(text)' is not a date and is ignored; \(Self.nowHint)")
            case .data, .largeData, .largeText:
                self.warnings.append("\(path): its default '\(text)' is ignored: Core Data has none for data")
            default: self.keep(nil, text, in: &attribute, at: path)
            }
        }
    }

    /// Makes a value the default; in place of `nil` the number in the text, if the type has numbers. Warns about every
    /// default that is not used as it is written.
    private mutating func keep(
        _ value: AttributeValue?,
        _ text: String,
        in attribute: inout AttributeDraft,
        at path: String
    ) {
        let subject = "\(path): its default '\(text)'"
        let end = attribute.isOptional ? "is ignored" : "is ignored: an insert must set the attribute"
        guard let used = value ?? CoreDataValue.leftover(text, of: attribute.type) else {
            self.warnings.append("\(subject) is not a value of the type \(attribute.type) and \(end)")
            return
        }
        let description = AttributeDescription(
            number: 0,
            name: attribute.name,
            type: attribute.type,
            minimum: attribute.minimum,
            maximum: attribute.maximum
        )
        if let fault = description.fault(used) {
            self.warnings.append("\(subject) \(fault.text) and \(end)")
            return
        }
        attribute.defaultValue = used
        guard value == nil else { return }
        let word = ModelJSON.node(of: used, attribute)?.text ?? ""
        self.warnings.append("\(subject) is not a value of the type \(attribute.type): \(word) is used")
    }

    /// Returns a bound of the value, or of the length of a text.
    mutating func bound(
        _ side: String,
        of element: XMLElement,
        _ type: AttributeType,
        at path: String
    ) -> AttributeValue {
        if type == .date, let interval = element.text("\(side)DateTimeInterval") {
            if let date = CoreDataValue.date(interval: interval) { return .date(date) }
            self.ignoreBound("\(side)DateTimeInterval '\(interval)'", "is not a number of seconds since 2001", path)
            return .null
        }
        guard let text = element.text("\(side)ValueString") else { return .null }
        let subject = "\(side)ValueString '\(text)'"
        switch type {
        case .boolean, .data, .uuid, .largeData, .largeText:
            self.ignoreBound(subject, "is a bound, and \(type) has none", path)
        case .string, .uri:
            if let length = CoreDataValue.integer(text), length >= 0 { return .integer(length) }
            self.ignoreBound(subject, "is not a number of characters", path)
        default:
            if let value = CoreDataValue.value(text, of: type) { return value }
            self.ignoreBound(subject, "is not a value of the type \(type)", path)
        }
        return .null
    }

    private mutating func ignoreBound(_ subject: String, _ reason: String, _ path: String) {
        self.warnings.append("\(path): \(subject) \(reason) and is ignored")
    }
}
