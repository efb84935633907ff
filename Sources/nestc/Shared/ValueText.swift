import NestFormats
import NestModel

/// Values as people write and read them.
enum ValueText {
    /// Reads a value of an attribute's type.
    static func value(_ text: String, for attribute: AttributeDescription) throws -> AttributeValue {
        func fail(_ what: String) -> CommandFailure {
            let hint = attribute.isOptional ? "; '\(attribute.name):=null' takes the value away" : ""
            return CommandFailure(.usage, "\(attribute.name) is \(what), not '\(text)'\(hint)")
        }
        switch attribute.type {
        case .string:
            guard !text.utf8.contains(0) else { throw fail("text without NUL") }
            return .string(text)
        case .integer:
            guard let value = Int64(text) else { throw fail("a whole number") }
            return .integer(value)
        case .double:
            guard let value = Double(text), !value.isNaN else { throw fail("a number") }
            return .double(value)
        case .boolean:
            switch text.lowercased() {
            case "yes", "true", "1", "on", "y": return .boolean(true)
            case "no", "false", "0", "off", "n": return .boolean(false)
            default: throw fail("yes or no")
            }
        case .date:
            guard let value = DateText.microseconds(text) else { throw fail("a date like 2026-11-21T09:30:00Z") }
            return .date(value)
        case .data:
            guard let value = Base64.bytes(text) else { throw fail("base64") }
            return .data(value)
        case .uuid:
            guard let value = Identifier128(hex: text) else { throw fail("a UUID") }
            return .uuid(value)
        }
    }

    static func text(_ value: AttributeValue) -> String {
        switch value {
        case .null: ""
        case .boolean(let value): value ? "yes" : "no"
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): value
        case .date(let value): DateText.text(microseconds: value)
        case .data(let value): Base64.text(value)
        case .uuid(let value): value.uuidString
        case .reference(let value): "\(value)"
        }
    }
}
