import NestModel

/// Reads values of attributes from nest's JSON form.
enum JSONValues {
    /// Returns the value of a type; `nil` when the node is not such a value.
    static func value(_ node: JSONElement, of type: AttributeType) -> AttributeValue? {
        switch (type, node) {
        case (.string, .string(let text)), (.uri, .string(let text)): .string(text)
        case (.integer, .number(let text)), (.integer16, .number(let text)), (.integer32, .number(let text)):
            Int64(text).map(AttributeValue.integer)
        case (.double, _): node.floatingPoint.flatMap(Double.init).map(AttributeValue.double)
        case (.float, _): node.floatingPoint.flatMap(Self.float).map(AttributeValue.double)
        case (.decimal, .string(let text)), (.decimal, .number(let text)):
            DecimalText.canonical(text).map(AttributeValue.string)
        case (.boolean, .boolean(let value)): .boolean(value)
        case (.date, .string(let text)): DateText.microseconds(text).map(AttributeValue.date)
        // Microseconds since 1970, for years that have more than four digits.
        case (.date, .number(let text)): Int64(text).map(AttributeValue.date)
        case (.data, .string(let text)): Base64.bytes(text).map(AttributeValue.data)
        case (.uuid, .string(let text)): Identifier128(hex: text).map(AttributeValue.uuid)
        default: nil
        }
    }

    /// Returns the number rounded to 32 bits; unchanged when it is beyond their range, so that the model refuses it.
    private static func float(_ text: String) -> Double? {
        guard let number = Double(text), let float = Float(text) else { return nil }
        return float.isFinite || number.isInfinite ? Double(float) : number
    }

    /// Returns a description of the values that `value` accepts, for error messages.
    static func form(of type: AttributeType) -> String {
        switch type {
        case .string, .uri: "a string"
        case .integer, .integer16, .integer32: "a whole number"
        case .double, .float: "a number"
        case .decimal: "a decimal number as a string, like \"12.50\","
        case .boolean: "true or false"
        case .date: "a date like \"2026-11-21T09:30:00Z\""
        case .data: "base64 in a string"
        case .uuid: "a UUID in a string"
        case .largeData, .largeText: "nothing: a large value has no default"
        }
    }
}
