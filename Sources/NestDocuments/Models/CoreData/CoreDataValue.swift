import NestModel

/// Reads values as Xcode writes them into a model.
enum CoreDataValue {
    /// Returns the value of a type; `nil` when the text is not such a value.
    static func value(_ text: String, of type: AttributeType) -> AttributeValue? {
        switch type {
        case .string: .string(text)
        case .uri: text.isEmpty ? nil : .string(text)
        case .integer, .integer16, .integer32: Self.integer(text).map(AttributeValue.integer)
        case .double, .float: Double(text).flatMap { $0.isNaN ? nil : .double($0) }
        case .decimal: DecimalText.canonical(text).map(AttributeValue.string)
        case .boolean: Self.boolean(text).map(AttributeValue.boolean)
        case .date: Self.date(text).map(AttributeValue.date)
        case .uuid: Identifier128(hex: text).map(AttributeValue.uuid)
        case .data, .largeData, .largeText: nil
        }
    }

    /// Returns the value of a type for a default that Xcode has left from another type: its number, if it has one, as
    /// in `NO` for an integer or `100` for a boolean.
    static func leftover(_ text: String, of type: AttributeType) -> AttributeValue? {
        guard let number = Self.boolean(text).map({ $0 ? 1 : 0 }) ?? Double(text), number.isFinite else { return nil }
        let whole = Int64(exactly: number)
        switch type {
        case .boolean: return .boolean(number != 0)
        case .integer, .integer16, .integer32: return whole.map(AttributeValue.integer)
        case .double, .float: return .double(number)
        case .decimal: return DecimalText.canonical(whole.map { "\($0)" } ?? text).map(AttributeValue.string)
        case .string, .date, .data, .uuid, .uri, .largeData, .largeText: return nil
        }
    }

    /// Reads `YES` and `NO`, and the words that other programs write for them.
    static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "yes", "true", "1": true
        case "no", "false", "0": false
        default: nil
        }
    }

    /// Reads a whole number, also in the form `0.0`, which Xcode leaves when the attribute had another type before.
    static func integer(_ text: String) -> Int64? {
        Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }
    }

    /// Converts seconds since 2001 to microseconds since 1970.
    static func date(interval text: String) -> Int64? {
        guard let seconds = Double(text), seconds.isFinite else { return nil }
        // Whole seconds separately, so that only the fraction is rounded.
        let whole = seconds.rounded(.down)
        guard abs(whole) < 9e12 else { return nil }
        return (Int64(whole) + 978_307_200) * 1_000_000 + Int64(((seconds - whole) * 1_000_000).rounded())
    }

    /// Reads a date like `2012-11-21 09:30:00 +0000`.
    private static func date(_ text: String) -> Int64? {
        DateText.microseconds(text.replacing(/\s(?=[+-]\d\d:?\d\d$)/, with: ""))
    }

    /// Returns the attribute type with this name in the file; `nil` for a type that nest does not have.
    static func type(named name: String) -> AttributeType? {
        switch name {
        case "Integer 16": .integer16
        case "Integer 32": .integer32
        case "Integer 64": .integer
        case "Double": .double
        case "Float": .float
        case "Decimal": .decimal
        case "String": .string
        case "Boolean": .boolean
        case "Date": .date
        case "Binary", "Binary Data", "Transformable": .data
        case "UUID": .uuid
        case "URI": .uri
        default: nil
        }
    }
}
