import NestModel

extension JSONElement {
    /// A value of the model, as `JSONWriter.value` writes it.
    package init(_ value: AttributeValue, of type: AttributeType) {
        switch value {
        case .null: self = .null
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .number(String(number))
        case .double(let number): self = type == .float ? Self(Float(number)) : Self(number)
        case .string(let text): self = .string(text)
        case .date(let date): self = .string(DateText.text(microseconds: date))
        case .data(let bytes): self = .string(Base64.text(bytes))
        case .uuid(let identifier): self = .string(identifier.uuidString)
        case .reference(let id): self = .number(String(id.rawValue))
        }
    }

    /// The names of the members of a JSON object; none when the text is of none.
    package static func names(ofObject text: String) -> [String] {
        OutlineExtra(text)?.members.map(\.name) ?? []
    }
}
