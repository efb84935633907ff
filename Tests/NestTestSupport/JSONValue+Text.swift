/// The text of JSON values, the same on every run.
extension JSONValue {
    /// The members that come first in an object, in this order; the others follow by name.
    private static let first = [
        "name", "about", "id", "number", "entity", "text", "zone", "now", "code", "value", "type", "folding",
    ]

    /// The value on one line, in ASCII: other characters are written as `\u` escapes, so that no editor changes them.
    public var line: String {
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return String(value)
        case .double(let value): return String(value)
        case .string(let value): return Self.quoted(value)
        case .array(let elements): return "[\(elements.map(\.line).joined(separator: ", "))]"
        case .object(let members):
            let names = members.keys.sorted { a, b in
                let (x, y) = (Self.first.firstIndex(of: a) ?? .max, Self.first.firstIndex(of: b) ?? .max)
                return x == y ? a < b : x < y
            }
            return "{\(names.map { "\(Self.quoted($0)): \(members[$0]!.line)" }.joined(separator: ", "))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for unit in text.utf16 {
            switch unit {
            case 0x22: quoted += "\\\""
            case 0x5c: quoted += "\\\\"
            case 0x0a: quoted += "\\n"
            case 0x20..<0x7f: quoted.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            }
        }
        return quoted + "\""
    }
}
