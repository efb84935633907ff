extension JSONElement {
    /// The value on one line, with spaces between elements.
    package var text: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { "\(Self.quoted($0.name)): \($0.value.text)" }.joined(separator: ", ") + "}"
        }
    }

    /// The value on several lines. Flat arrays and objects stay on one.
    package func pretty(indentation: Int = 0) -> String {
        let inner = String(repeating: " ", count: indentation + 2)
        let outer = String(repeating: " ", count: indentation)
        switch self {
        case .array(let elements) where !self.isFlat:
            let lines = elements.map { inner + $0.pretty(indentation: indentation + 2) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(outer)]"
        case .object(let members) where !self.isFlat:
            let lines = members.map { member in
                "\(inner)\(Self.quoted(member.name)): \(member.value.pretty(indentation: indentation + 2))"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(outer)}"
        default: return self.text
        }
    }

    /// Whether it contains no object, and no array in an object.
    private var isFlat: Bool {
        switch self {
        case .array(let elements): elements.allSatisfy { $0.isFlat && !$0.isObject }
        case .object(let members): members.allSatisfy { !$0.value.isObject && !$0.value.isArray }
        default: true
        }
    }

    private var isObject: Bool { if case .object = self { true } else { false } }
    private var isArray: Bool { if case .array = self { true } else { false } }

    private static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
