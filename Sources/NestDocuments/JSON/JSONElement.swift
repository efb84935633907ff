/// One JSON value.
package enum JSONElement: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// The digits, so that a decimal number keeps all of them.
    case number(String)
    case string(String)
    case array([JSONElement])
    /// In the order in which they are written. `parse` returns them in the order of their names.
    case object([Member])

    package struct Member: Equatable, Sendable {
        package var name: String
        package var value: JSONElement

        package init(_ name: String, _ value: JSONElement) {
            self.name = name
            self.value = value
        }
    }

    /// Creates a number with the shortest digits that read back as this number of 64 or 32 bits. JSON has no infinity,
    /// which becomes a string.
    package init(_ number: some BinaryFloatingPoint & LosslessStringConvertible) {
        if number.isInfinite {
            self = .string(number < 0 ? Self.negativeInfinity : Self.infinity)
        } else {
            let text = "\(number)"
            self = .number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
        }
    }

    private static let infinity = "Infinity"
    private static let negativeInfinity = "-Infinity"

    /// The text of a number, or of infinity, for `Double` and `Float`; `nil` for anything else.
    package var floatingPoint: String? {
        switch self {
        case .number(let digits): digits
        case .string(let text) where text == Self.infinity || text == Self.negativeInfinity: text
        default: nil
        }
    }

    /// The value or its kind, for error messages.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): "\"\(text.prefix(60))\""
        case .array: "an array"
        case .object: "an object"
        }
    }
}
