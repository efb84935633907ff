import NestModel

/// Reads JSON (RFC 8259) strictly: no member twice in an object, no more values within values than the limit.
struct JSONParser {
    private var scanner: TextScanner
    private var depth = 0

    static func parse(_ bytes: [UInt8]) throws(SyntaxFault) -> JSONNode {
        var parser = JSONParser(scanner: try TextScanner(bytes))
        let node = try parser.value()
        parser.scanner.skipSpace()
        guard parser.scanner.peek == nil else { throw parser.scanner.fault("nothing may follow the value") }
        return node
    }

    private init(scanner: TextScanner) {
        self.scanner = scanner
    }

    private mutating func value() throws(SyntaxFault) -> JSONNode {
        self.scanner.skipSpace()
        switch self.scanner.peek {
        case UInt8(ascii: "{"): return try self.nested { (parser) throws(SyntaxFault) in try parser.object() }
        case UInt8(ascii: "["): return try self.nested { (parser) throws(SyntaxFault) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try self.string())
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return try self.number()
        default:
            if self.scanner.skip("true") { return .boolean(true) }
            if self.scanner.skip("false") { return .boolean(false) }
            if self.scanner.skip("null") { return .null }
            throw self.scanner.fault("a value is expected here")
        }
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(SyntaxFault) -> JSONNode
    ) throws(SyntaxFault) -> JSONNode {
        guard self.depth < Limits.modelFileDepthMax else {
            throw self.scanner.fault("more than \(Limits.modelFileDepthMax) values within each other")
        }
        self.depth += 1
        defer { self.depth -= 1 }
        _ = self.scanner.next()
        return try body(&self)
    }

    private mutating func object() throws(SyntaxFault) -> JSONNode {
        var members: [JSONNode.Member] = []
        var names: Set<[UInt8]> = []
        self.scanner.skipSpace()
        if self.scanner.skip("}") { return .object([]) }
        while true {
            self.scanner.skipSpace()
            let start = self.scanner.index
            guard self.scanner.isAt("\"") else { throw self.scanner.fault("the name of a member is expected here") }
            let name = try self.string()
            guard names.insert(Array(name.utf8)).inserted else {
                throw self.scanner.fault(at: start, "the object has the member '\(name)' twice")
            }
            self.scanner.skipSpace()
            guard self.scanner.skip(":") else { throw self.scanner.fault(": is expected here") }
            members.append(JSONNode.Member(name, try self.value()))
            self.scanner.skipSpace()
            if self.scanner.skip("}") { return .object(members) }
            guard self.scanner.skip(",") else { throw self.scanner.fault(", or } is expected here") }
        }
    }

    private mutating func array() throws(SyntaxFault) -> JSONNode {
        var elements: [JSONNode] = []
        self.scanner.skipSpace()
        if self.scanner.skip("]") { return .array([]) }
        while true {
            elements.append(try self.value())
            self.scanner.skipSpace()
            if self.scanner.skip("]") { return .array(elements) }
            guard self.scanner.skip(",") else { throw self.scanner.fault(", or ] is expected here") }
        }
    }

    /// `-?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?`
    private mutating func number() throws(SyntaxFault) -> JSONNode {
        let start = self.scanner.index
        let bytes = self.scanner.take { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
        var rest = bytes
        /// Passes over digits; how many.
        func digits() -> Int {
            let count = rest.prefix { (0x30...0x39).contains($0) }.count
            rest = rest.dropFirst(count)
            return count
        }
        func skip(_ characters: String) -> Bool {
            guard let byte = rest.first, characters.utf8.contains(byte) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = skip("-")
        let hasLeadingZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        var isNumber = whole == 1 || (whole > 1 && !hasLeadingZero)
        if skip(".") { isNumber = digits() > 0 && isNumber }
        if skip("eE") {
            _ = skip("+-")
            isNumber = digits() > 0 && isNumber
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard isNumber, rest.isEmpty else {
            throw self.scanner.fault(at: start, "'\(text.prefix(40))' is no number")
        }
        return .number(text)
    }

    private mutating func string() throws(SyntaxFault) -> String {
        let start = self.scanner.index
        _ = self.scanner.next()
        var text: [UInt8] = []
        while let byte = self.scanner.next() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: String(try self.escape()).utf8)
            case 0..<0x20: throw self.scanner.fault(at: self.scanner.index - 1, "a control character in a string")
            default: text.append(byte)
            }
        }
        throw self.scanner.fault(at: start, "the string has no end")
    }

    private mutating func escape() throws(SyntaxFault) -> Unicode.Scalar {
        let start = self.scanner.index - 1
        switch self.scanner.next() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            if let unit = self.codeUnit() {
                if let scalar = Unicode.Scalar(unit) { return scalar }
                // The first half of a pair; the second follows.
                if unit < 0xdc00, self.scanner.skip("\\u"), let low = self.codeUnit(), (0xdc00...0xdfff).contains(low) {
                    return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00))!
                }
            }
        default: break
        }
        throw self.scanner.fault(at: start, "no escape of JSON")
    }

    private mutating func codeUnit() -> UInt16? {
        var digits: [UInt8] = []
        while digits.count < 4, let byte = self.scanner.peek, Character(Unicode.Scalar(byte)).isHexDigit {
            digits.append(byte)
            _ = self.scanner.next()
        }
        return digits.count == 4 ? UInt16(String(decoding: digits, as: UTF8.self), radix: 16) : nil
    }
}
