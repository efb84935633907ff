/// A value in a predicate's text, to be converted to the type it is compared with.
struct PredicateLiteral {
    enum Kind {
        case null
        case boolean(Bool)
        case number(String)
        case text(String)
        case value(AttributeValue)
        /// A variable, whose value has the type that it is compared with.
        case open
    }

    var kind: Kind
    var column: Int

    init(kind: Kind, column: Int) {
        self.kind = kind
        self.column = column
    }

    /// `date("…")`, `uuid("…")`, `data("…")`. `name` is in capitals.
    init(
        function name: String,
        _ text: String,
        _ dates: DateReading,
        text textColumn: Int,
        column: Int
    ) throws(PredicateSyntaxError) {
        let value: AttributeValue?
        let form: String
        switch name {
        case "DATE":
            value = .date(try Self.date(text, dates, text: textColumn + 1))
            form = ""
        case "UUID":
            value = Identifier128(hex: text).map { .uuid($0) }
            form = "uuid: write uuid(\"01234567-89ab-cdef-0123-456789abcdef\")"
        default:
            value = Base64.bytes(text).map { .data($0) }
            form = "data: write data(\"aGk=\"), in base64"
        }
        guard let value else {
            throw PredicateSyntaxError(column: column, message: "'\(text)' is not a \(form)")
        }
        self.init(kind: .value(value), column: column)
    }

    /// Reads a date, or a word like `today`. `column`: where the text begins.
    static func date(_ text: String, _ dates: DateReading, text column: Int) throws(PredicateSyntaxError) -> Int64 {
        do throws(DateFault) {
            return try dates.microseconds(text)
        } catch {
            let before = String(decoding: text.utf8.prefix(error.offset), as: UTF8.self).unicodeScalars.count
            throw PredicateSyntaxError(
                column: column + before,
                message: "'\(text)' is not a date: \(error.message)"
            )
        }
    }

    private var description: String {
        switch self.kind {
        case .null: "nil"
        case .boolean(let value): value ? "YES" : "NO"
        case .number(let number): number
        case .text(let text): "\"\(text)\""
        case .value(let value): "a \(value.typeName)"
        case .open: "a variable"
        }
    }

    func value(for path: ResolvedPath, _ dates: DateReading) throws(PredicateSyntaxError) -> AttributeValue {
        func fail(_ hint: String) -> PredicateSyntaxError {
            let text = "\(path.text) is \(path.type.description), it cannot be compared with \(self.description)"
            return PredicateSyntaxError(column: self.column, message: "\(text): \(hint)")
        }
        switch (path.type, self.kind) {
        case (_, .null):
            return .null
        case (let type, .open):
            return type.sample
        case (.object, .number(let digits)):
            guard let id = Int64(digits), id > 0, id <= Limits.objectIDMax else {
                throw fail("write the object's id")
            }
            return .reference(ObjectID(id))
        case (.object, _):
            throw fail("write the object's id" + (path.text == "SELF" ? "" : ", or compare an attribute of it"))
        case (.count, .number(let digits)):
            guard let number = Self.number(digits) else { throw fail("it is too large") }
            return number
        case (.count, _):
            throw fail("write a number")
        case (.attribute(.date), .text(let text)):
            return .date(try Self.date(text, dates, text: self.column + 1))
        case (.attribute(let type), _):
            guard let value = self.value(of: type) else { throw fail(self.form(of: type)) }
            return value
        }
    }

    /// What to write for a value of a type, instead of this literal.
    private func form(of type: AttributeType) -> String {
        switch (type, self.kind) {
        case (.string, _), (.uri, _): "put texts in quotation marks"
        case (.boolean, _): "write YES or NO"
        case (.date, _): "write a date as 2026-02-01 or 2026-02-01 14:30"
        case (.uuid, _): "write uuid(\"01234567-89ab-cdef-0123-456789abcdef\")"
        case (.data, _): "write data(\"aGk=\"), in base64"
        case (.largeData, _), (.largeText, _): "it is outside the rows: compare it with NULL only"
        case (.decimal, .number), (.decimal, .text): "write a number of at most \(DecimalText.digitsMax) digits"
        case (.integer, .number), (.integer16, .number), (.integer32, .number), (.double, .number), (.float, .number):
            "it is too large"
        case (.integer, .text), (.integer16, .text), (.integer32, .text), (.double, .text), (.float, .text):
            "write a number, without quotation marks"
        default: "write a number"
        }
    }

    func checkLength(_ value: AttributeValue) throws(PredicateSyntaxError) {
        guard case .string(let text) = value, text.utf8.count > Limits.patternBytesMax else { return }
        throw PredicateSyntaxError(
            column: self.column,
            message: "a text to compare with has at most \(Limits.patternBytesMax) bytes"
        )
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
        case .matches: "MATCHES"
        case .inSubtree: "IN SUBTREE"
        }
    }
}

extension PathType {
    /// Some value of the type.
    fileprivate var sample: AttributeValue {
        switch self {
        case .object: .reference(ObjectID(1))
        case .count: .integer(0)
        case .attribute(let type):
            switch type {
            case .string, .uri: .string("a")
            case .decimal: .string("0")
            case .boolean: .boolean(false)
            case .date: .date(0)
            case .data, .largeData, .largeText: .data([])
            case .uuid: .uuid(Identifier128(high: 0, low: 0))
            case .integer, .integer16, .integer32, .double, .float: .integer(0)
            }
        }
    }
}
