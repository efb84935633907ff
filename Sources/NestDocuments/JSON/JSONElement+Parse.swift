import Foundation

extension JSONElement {
    /// The maximum depth of nested arrays and objects.
    package static let depthMax = 64

    /// Reads one JSON text with nothing after it. `line`: the line of the text, for errors.
    ///
    /// It accepts what Foundation's `JSONDecoder` accepts: a comma may follow the last element, and if an object has a
    /// name twice, one of the values is used. Members are in the order of their names. A number keeps its decimal
    /// digits, at most 38, or becomes the nearest `Double` when it is beyond the range of `Decimal`.
    package static func parse(
        _ bytes: some Collection<UInt8>,
        line: Int = 1,
        depthMax: Int = JSONElement.depthMax
    ) throws(FormatError) -> JSONElement {
        let source = JSONText.Source(start: TextLocation(line: line))
        return try JSONText.decode(JSONElement.self, from: bytes, source, [Self.depthKey: depthMax])
    }

    /// Reads one JSON text that must be an object.
    package static func parseObject(
        _ bytes: some Collection<UInt8>,
        line: Int = 1
    ) throws(FormatError) -> [Member] {
        let element = try Self.parse(bytes, line: line)
        guard case .object(let members) = element else {
            let message = "a JSON object like {\"name\": \"value\"} is expected, not \(element.typeName)"
            throw FormatError(line: line, column: 1, message)
        }
        return members
    }

    fileprivate static let depthKey = CodingUserInfoKey(rawValue: "depthMax")!
}

extension JSONElement: Decodable {
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let text = try Self.ofType({ try value.decode(String.self) }) {
            self = .string(text)
        } else if let flag = try Self.ofType({ try value.decode(Bool.self) }) {
            self = .boolean(flag)
        } else if let digits = try Self.ofType({ try Self.digits(value) }) {
            self = .number(digits)
        } else {
            let depthMax = decoder.userInfo[Self.depthKey] as? Int ?? Self.depthMax
            guard decoder.codingPath.count < depthMax else {
                throw JSONFault(message: "arrays and objects nest more than \(depthMax) deep")
            }
            if let elements = try Self.ofType({ try value.decode([JSONElement].self) }) {
                self = .array(elements)
            } else {
                let members = try value.decode([String: JSONElement].self)
                self = .object(members.map { Member($0.key, $0.value) }.sorted { $0.name < $1.name })
            }
        }
    }

    /// Returns `nil` when the value has another type.
    private static func ofType<Value>(_ decode: () throws -> Value) throws -> Value? {
        do { return try decode() } catch DecodingError.typeMismatch { return nil }
    }

    /// Returns the digits of a number. It is not decoded as an integer: the decoder would round 9007199254740992.5 to
    /// one.
    private static func digits(_ value: any SingleValueDecodingContainer) throws -> String {
        let double = try value.decode(Double.self)
        guard let decimal = try? value.decode(Decimal.self) else { return "\(double)" }
        // A decimal number has no negative zero.
        if double == 0, double.sign == .minus { return "-0" }
        let digits = "\(decimal)"
        return Double(digits) == double ? digits : "\(double)"
    }
}
