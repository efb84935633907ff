/// A JSON text as it is written: numbers keep their digits, members their order.
package enum JSONElement: Sendable {
    case null
    case boolean(Bool)
    /// As it stands there, so that a decimal number loses nothing.
    case number(String)
    case string(String)
    case array([JSONElement])
    /// Each name once.
    case object([(name: String, value: JSONElement)])

    /// Arrays and objects in one another.
    package static let depthMax = 64

    /// Reads one JSON text (RFC 8259) with nothing after it. `line` is where it stands, for the error.
    package static func parse(_ bytes: some Collection<UInt8>, line: Int = 1) throws(FormatError) -> JSONElement {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw FormatError(line: line, column: 1, "not valid UTF-8")
        }
        var parser = JSONParser(text, line: line)
        return try parser.document()
    }

    /// What it is, in an error text.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .number(let digits): digits
        case .string(let text): "\"\(text)\""
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// The grammar; recursive, but no deeper than `JSONElement.depthMax`.
private struct JSONParser {
    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var line: Int
    private var lineStart = 0

    init(_ text: String, line: Int) {
        self.scalars = Array(text.unicodeScalars)
        self.line = line
    }

    mutating func document() throws(FormatError) -> JSONElement {
        let element = try self.element(depth: 0)
        self.skipSpace()
        guard self.index == self.scalars.count else { throw self.error("something follows the end") }
        return element
    }

    private func error(_ message: String) -> FormatError {
        FormatError(line: self.line, column: self.index - self.lineStart + 1, message)
    }

    private var next: Unicode.Scalar? { self.index < self.scalars.count ? self.scalars[self.index] : nil }

    private mutating func skipSpace() {
        while let next, next == " " || next == "\t" || next == "\r" || next == "\n" {
            self.index += 1
            if next == "\n" {
                self.line += 1
                self.lineStart = self.index
            }
        }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard self.next == scalar else { return false }
        self.index += 1
        return true
    }

    private mutating func element(depth: Int) throws(FormatError) -> JSONElement {
        guard depth <= JSONElement.depthMax else {
            throw self.error("more than \(JSONElement.depthMax) arrays and objects in one another")
        }
        self.skipSpace()
        switch self.next {
        case "{": return try self.object(depth: depth)
        case "[": return try self.array(depth: depth)
        case "\"": return .string(try self.string())
        case "t": return try self.word("true", .boolean(true))
        case "f": return try self.word("false", .boolean(false))
        case "n": return try self.word("null", .null)
        case .some("-"), .some("0"..."9"): return try self.number()
        case nil: throw self.error("the JSON ends too early")
        case .some(let scalar): throw self.error("'\(scalar)' begins no JSON value")
        }
    }

    private mutating func word(_ word: String, _ element: JSONElement) throws(FormatError) -> JSONElement {
        for scalar in word.unicodeScalars where !self.take(scalar) { throw self.error("expected \(word)") }
        return element
    }

    private mutating func array(depth: Int) throws(FormatError) -> JSONElement {
        self.index += 1
        var elements: [JSONElement] = []
        self.skipSpace()
        if self.take("]") { return .array(elements) }
        while true {
            elements.append(try self.element(depth: depth + 1))
            self.skipSpace()
            if self.take("]") { return .array(elements) }
            guard self.take(",") else { throw self.error("expected , or ] in an array") }
        }
    }

    private mutating func object(depth: Int) throws(FormatError) -> JSONElement {
        self.index += 1
        var members: [(name: String, value: JSONElement)] = []
        var names: Set<[UInt8]> = []
        self.skipSpace()
        if self.take("}") { return .object(members) }
        while true {
            self.skipSpace()
            guard self.next == "\"" else { throw self.error("expected a name in quotation marks") }
            let name = try self.string()
            guard names.insert(Array(name.utf8)).inserted else { throw self.error("\"\(name)\" stands there twice") }
            self.skipSpace()
            guard self.take(":") else { throw self.error("expected : after \"\(name)\"") }
            members.append((name, try self.element(depth: depth + 1)))
            self.skipSpace()
            if self.take("}") { return .object(members) }
            guard self.take(",") else { throw self.error("expected , or } in an object") }
        }
    }

    private mutating func digits() throws(FormatError) -> String {
        var digits = ""
        while let next, ("0"..."9").contains(next) {
            digits.unicodeScalars.append(next)
            self.index += 1
        }
        guard !digits.isEmpty else { throw self.error("expected a digit") }
        return digits
    }

    private mutating func number() throws(FormatError) -> JSONElement {
        var text = self.take("-") ? "-" : ""
        let whole = try self.digits()
        guard whole == "0" || !whole.hasPrefix("0") else { throw self.error("a number does not begin with 0") }
        text += whole
        if self.take(".") { text += "." + (try self.digits()) }
        if self.take("e") || self.take("E") {
            text += "e"
            if self.take("-") { text += "-" } else { _ = self.take("+") }
            text += try self.digits()
        }
        return .number(text)
    }

    private mutating func string() throws(FormatError) -> String {
        self.index += 1
        var text = String.UnicodeScalarView()
        while let next {
            switch next {
            case "\"":
                self.index += 1
                return String(text)
            case "\\":
                self.index += 1
                text.append(try self.escape())
            case "\u{0}"..<" ":
                throw self.error("a control character in a string has to be escaped")
            default:
                text.append(next)
                self.index += 1
            }
        }
        throw self.error("a string without its end")
    }

    private mutating func escape() throws(FormatError) -> Unicode.Scalar {
        guard let next else { throw self.error("the JSON ends too early") }
        self.index += 1
        switch next {
        case "\"", "\\", "/": return next
        case "b": return "\u{8}"
        case "f": return "\u{c}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u":
            let unit = try self.unit()
            guard (0xd800...0xdbff).contains(unit) else {
                guard let scalar = Unicode.Scalar(unit) else { throw self.error("half a surrogate pair") }
                return scalar
            }
            guard self.take("\\"), self.take("u") else { throw self.error("half a surrogate pair") }
            let low = try self.unit()
            guard (0xdc00...0xdfff).contains(low),
                let scalar = Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
            else { throw self.error("half a surrogate pair") }
            return scalar
        default: throw self.error("no escape: \\\(next)")
        }
    }

    /// Four hexadecimal digits.
    private mutating func unit() throws(FormatError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let next, next.isASCII, let digit = Character(next).hexDigitValue else {
                throw self.error("\\u takes four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            self.index += 1
        }
        return value
    }
}
