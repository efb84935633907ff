import NestModel

/// Writes one JSON value without spaces, in the order of the calls.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {}

    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        self.open("{")
        body(&self)
        self.close("}")
    }

    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        self.open("[")
        body(&self)
        self.close("]")
    }

    package mutating func array<Element>(
        _ elements: some Sequence<Element>,
        _ body: (inout JSONWriter, Element) -> Void
    ) {
        self.array { writer in
            for element in elements { body(&writer, element) }
        }
    }

    package mutating func key(_ name: String) {
        self.string(name)
        self.bytes.append(UInt8(ascii: ":"))
        self.needsComma = false
    }

    package mutating func null() { self.raw("null") }
    package mutating func boolean(_ value: Bool) { self.raw(value ? "true" : "false") }
    package mutating func integer(_ value: some BinaryInteger) { self.raw(String(value)) }

    /// Writes the shortest digits that read back as this number of 64 or 32 bits; a string when it is infinite.
    package mutating func double(_ value: some BinaryFloatingPoint & LosslessStringConvertible) {
        self.raw(JSONElement(value).text)
    }

    package mutating func string(_ value: String) {
        self.comma()
        self.bytes.append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""): self.bytes.append(contentsOf: Array("\\\"".utf8))
            case UInt8(ascii: "\\"): self.bytes.append(contentsOf: Array("\\\\".utf8))
            case 0x0a: self.bytes.append(contentsOf: Array("\\n".utf8))
            case 0x0d: self.bytes.append(contentsOf: Array("\\r".utf8))
            case 0x09: self.bytes.append(contentsOf: Array("\\t".utf8))
            case 0..<0x20, 0x7f:
                let digits = String(byte, radix: 16)
                self.bytes.append(contentsOf: Array("\\u00\(digits.utf8.count == 1 ? "0" : "")\(digits)".utf8))
            default: self.bytes.append(byte)
            }
        }
        self.bytes.append(UInt8(ascii: "\""))
        self.needsComma = true
    }

    /// Writes a value that `JSONElement.parse` has read or the program has created.
    package mutating func element(_ element: JSONElement) {
        switch element {
        case .null: self.null()
        case .boolean(let value): self.boolean(value)
        case .number(let digits): self.raw(digits)
        case .string(let text): self.string(text)
        case .array(let elements): self.array(elements) { $0.element($1) }
        case .object(let members):
            self.object { json in
                for member in members {
                    json.key(member.name)
                    json.element(member.value)
                }
            }
        }
    }

    /// Writes a value of the model, in the form of `JSONElement.init(_:of:)`.
    package mutating func value(_ value: AttributeValue, of type: AttributeType? = nil) {
        self.element(JSONElement(value, of: type))
    }

    private mutating func raw(_ text: String) {
        self.comma()
        self.bytes.append(contentsOf: text.utf8)
        self.needsComma = true
    }

    private mutating func open(_ bracket: Unicode.Scalar) {
        self.comma()
        self.bytes.append(UInt8(ascii: bracket))
        self.needsComma = false
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        self.bytes.append(UInt8(ascii: bracket))
        self.needsComma = true
    }

    private mutating func comma() {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
    }
}

extension JSONWriter {
    // Short forms for a named field.
    package mutating func field(_ name: String, _ value: some BinaryInteger) {
        self.key(name)
        self.integer(value)
    }

    package mutating func field(_ name: String, _ value: String) {
        self.key(name)
        self.string(value)
    }

    package mutating func field(_ name: String, _ value: Bool) {
        self.key(name)
        self.boolean(value)
    }

    package mutating func field(_ name: String, _ revision: Revision) { self.field(name, revision.rawValue) }

    package static func object(_ body: (inout JSONWriter) -> Void) -> JSONWriter {
        var writer = JSONWriter()
        writer.object(body)
        return writer
    }
}
