/// A value in a predicate's text, to be converted to the type it is compared with.
struct PredicateLiteral {
    enum Kind {
        case null
        case boolean(Bool)
        case number(String)
        case text(String)
        case value(AttributeValue)
    }

    var kind: Kind
    var column: Int

    init(kind: Kind, column: Int) {
        self.kind = kind
        self.column = column
    }

    /// `date("…")`, `uuid("…")`, `data("…")`.
    init(function: String, _ text: String, column: Int) throws(PredicateSyntaxError) {
        let value: AttributeValue?
        let form: String
        switch function {
        case "date":
            value = DateText.microseconds(text).map { .date($0) }
            form = "date(\"2026-11-21T09:30:00Z\")"
        case "uuid":
            value = Identifier128(hex: text).map { .uuid($0) }
            form = "uuid(\"01234567-89ab-cdef-0123-456789abcdef\")"
        default:
            value = Base64.bytes(text).map { .data($0) }
            form = "data(\"base64\")"
        }
        guard let value else {
            throw PredicateSyntaxError(column: column, message: "'\(text)' is not a \(function): write \(form)")
        }
        self.init(kind: .value(value), column: column)
    }

    private var description: String {
        switch self.kind {
        case .null: "nil"
        case .boolean(let value): value ? "YES" : "NO"
        case .number(let number): number
        case .text(let text): "\"\(text)\""
        case .value(let value): "a \(value.typeName)"
        }
    }

    func value(for path: ResolvedPath, _ symbol: Comparison.Operator) throws(PredicateSyntaxError) -> AttributeValue {
        func fail(_ hint: String) -> PredicateSyntaxError {
            let text = "\(path.text) is \(path.type.description), it cannot be compared with \(self.description)"
            return PredicateSyntaxError(column: self.column, message: hint.isEmpty ? text : "\(text): \(hint)")
        }
        switch (path.type, self.kind) {
        case (_, .null):
            return .null
        case (.object, .number(let digits)):
            guard let id = Int64(digits), id > 0, id <= Limits.objectIDMax else {
                throw fail("write the object's id")
            }
            return .reference(ObjectID(id))
        case (.count, .number(let digits)):
            guard let number = Self.number(digits) else { throw fail("") }
            return number
        case (.attribute(let type), _):
            guard let value = self.value(of: type) else {
                switch (type, self.kind) {
                case (.date, .text): throw fail("write date(\"2026-11-21T09:30:00Z\")")
                case (.uuid, .text): throw fail("write uuid(\"…\")")
                case (.data, .text): throw fail("write data(\"base64\")")
                case (.string, .number): throw fail("put texts in quotation marks")
                default: throw fail("")
                }
            }
            if case .string(let text) = value, text.utf8.count > Limits.patternBytesMax {
                throw PredicateSyntaxError(
                    column: self.column,
                    message: "a text to compare with has at most \(Limits.patternBytesMax) bytes"
                )
            }
            return value
        default:
            throw fail("")
        }
    }

    private func value(of type: AttributeType) -> AttributeValue? {
        switch (type, self.kind) {
        case (.integer, .number(let digits)), (.integer16, .number(let digits)), (.integer32, .number(let digits)),
            (.double, .number(let digits)), (.float, .number(let digits)):
            Self.number(digits)
        case (.decimal, .number(let digits)), (.decimal, .text(let digits)):
            DecimalText.canonical(digits).map { .string($0) }
        case (.boolean, .boolean(let value)): .boolean(value)
        case (.boolean, .number("1")): .boolean(true)
        case (.boolean, .number("0")): .boolean(false)
        case (.string, .text(let text)), (.uri, .text(let text)): .string(text)
        case (.date, .value(.date(let value))): .date(value)
        case (.uuid, .value(.uuid(let value))): .uuid(value)
        case (.data, .value(.data(let value))): .data(value)
        default: nil
        }
    }

    /// Returns a whole number as an integer, any other number as a double.
    private static func number(_ digits: String) -> AttributeValue? {
        if let whole = Int64(digits) { return .integer(whole) }
        guard let number = Double(digits), number.isFinite else { return nil }
        return .double(number)
    }
}

extension Comparison.Operator {
    /// The operator with its two sides exchanged; `nil` if they cannot be.
    var turned: Comparison.Operator? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: nil
        }
    }

    /// The operator in a predicate's text.
    public var text: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        case .between: "BETWEEN"
        case .isIn: "IN"
        case .contains: "CONTAINS"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .like: "LIKE"
        case .inSubtree: "IN SUBTREE"
        }
    }
}
