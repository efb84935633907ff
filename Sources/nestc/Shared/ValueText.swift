import NestDocuments
import NestModel

/// Converts values to and from text.
enum ValueText {
    /// Parses a value of an attribute's type. `isAssigned`: the value is part of an assignment. `dates`: how a person's
    /// dates are read; without it, those of a document, in UTC.
    static func value(
        _ text: String,
        for attribute: AttributeDescription,
        isAssigned: Bool = true,
        dates: DateReading? = nil
    ) throws -> AttributeValue {
        func fail(_ what: String) -> CommandFailure {
            let hint = attribute.isOptional && isAssigned ? "; '\(attribute.name):=null' removes the value" : ""
            return CommandFailure(.usage, "\(attribute.name) must be \(what), not '\(text)'\(hint)")
        }
        let value: AttributeValue
        switch attribute.type {
        case .string, .decimal, .uri: value = .string(text)
        case .integer, .integer16, .integer32:
            guard let number = Int64(text) else { throw fail("a whole number") }
            value = .integer(number)
        case .double, .float:
            guard let number = Double(text) else { throw fail("a number") }
            value = .double(number)
        case .boolean:
            switch text.lowercased() {
            case "yes", "true", "1", "on", "y": value = .boolean(true)
            case "no", "false", "0", "off", "n": value = .boolean(false)
            default: throw fail("yes or no")
            }
        case .date:
            if let dates {
                do throws(DateFault) {
                    value = .date(try dates.microseconds(text))
                } catch {
                    throw fail("a date: \(error.message)")
                }
            } else {
                guard let date = text == "now" ? microsecondsNow() : DateText.microseconds(text) else {
                    throw fail("a date like 2026-11-21T09:30:00Z, or now")
                }
                value = .date(date)
            }
        case .data:
            guard let bytes = Base64.bytes(text) else { throw fail("base64") }
            value = .data(bytes)
        case .largeData, .largeText:
            throw CommandFailure(.usage, "\(attribute.name) is \(attribute.type): set it with 'nestc put'")
        case .uuid:
            guard let identifier = Identifier128(hex: text) else { throw fail("a UUID") }
            value = .uuid(identifier)
        }
        return try Self.checked(value, attribute, text)
    }

    /// Parses a value of an attribute's type from JSON, in the form in which it is printed.
    static func value(
        _ json: JSONElement,
        for attribute: AttributeDescription,
        isAssigned: Bool = true
    ) throws -> AttributeValue {
        let name = attribute.name
        switch (attribute.type, json) {
        case (_, .null): return .null
        case (.boolean, .boolean(let value)): return .boolean(value)
        case (.integer, .number(let digits)), (.integer16, .number(let digits)), (.integer32, .number(let digits)),
            (.double, .number(let digits)), (.float, .number(let digits)), (.decimal, .number(let digits)):
            return try Self.value(digits, for: attribute, isAssigned: isAssigned)
        case (.string, .string(let text)), (.uri, .string(let text)), (.decimal, .string(let text)),
            (.date, .string(let text)), (.data, .string(let text)), (.uuid, .string(let text)):
            return try Self.value(text, for: attribute, isAssigned: isAssigned)
        case (.double, .string(let infinity)) where json.floatingPoint != nil,
            (.float, .string(let infinity)) where json.floatingPoint != nil:
            return try Self.value(infinity, for: attribute, isAssigned: isAssigned)
        default:
            throw CommandFailure(.usage, "\(name) must be \(Self.jsonForm(attribute.type)), not \(json.typeName)")
        }
    }

    private static func jsonForm(_ type: AttributeType) -> String {
        switch type {
        case .string, .uri: "a string"
        case .integer, .integer16, .integer32: "a whole number"
        case .double, .float: "a number"
        case .decimal: "a number or a string of digits"
        case .boolean: "true or false"
        case .date: "a string like \"2026-11-21T09:30:00Z\", or \"now\""
        case .data: "a string in base64"
        case .uuid: "a string with a UUID"
        case .largeData, .largeText: "null, or set with 'nestc put'"
        }
    }

    /// Checks that the type can hold the value. The server checks bounds and required values.
    private static func checked(_ value: AttributeValue, _ attribute: AttributeDescription, _ text: String) throws
        -> AttributeValue
    {
        let type = AttributeDescription(number: 1, name: attribute.name, type: attribute.type)
        if let fault = type.fault(value) {
            let shown = text.utf8.count > 60 ? "\(text.prefix(60))…" : text
            throw CommandFailure(.usage, "\(attribute.name) \(fault.text): '\(shown)'")
        }
        return value
    }

    static func text(_ value: AttributeValue, of type: AttributeType? = nil) -> String {
        if type?.isLarge == true, let large = LargeValue(value) {
            return "\(large.length) bytes, SHA-256 \(large.hexDigest)"
        }
        return switch value {
        case .null: ""
        case .boolean(let value): value ? "yes" : "no"
        case .integer(let value): "\(value)"
        case .double(let value): type == .float ? "\(Float(value))" : "\(value)"
        case .string(let value): value
        case .date(let value): DateText.text(microseconds: value)
        case .data(let value): Base64.text(value)
        case .uuid(let value): value.uuidString
        case .reference(let value): "\(value)"
        }
    }
}
