import NestModel

extension JSONElement {
    /// Creates the JSON of a value of the model: a date as RFC 3339, data as base64, a reference as the id, a decimal
    /// number as a string, a large value as its length and SHA-256. A value of the type `float` gets only the digits
    /// that its 32 bits need.
    package init(_ value: AttributeValue, of type: AttributeType? = nil) {
        if type?.isLarge == true, let large = LargeValue(value) {
            self = .object([
                Member("length", .number("\(large.length)")), Member("sha256", .string(large.hexDigest)),
            ])
            return
        }
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

    /// Returns the names of the members of a JSON object; none when the text is not a JSON object.
    package static func names(ofObject text: String) -> [String] {
        OutlineExtra(text)?.members.map(\.name) ?? []
    }
}
