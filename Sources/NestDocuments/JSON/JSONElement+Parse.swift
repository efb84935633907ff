import Foundation

extension JSONElement {
    /// Arrays and objects in one another.
    package static let depthMax = 64

    /// Reads one JSON text with nothing after it. `line` is where it stands, for the error.
    ///
    /// It is as Foundation's `JSONDecoder` reads it: a comma may stand behind the last element; of a name that an object
    /// has twice, one counts and nothing is said; and members come in the order of their names. A number has its decimal
    /// digits, 38 at the most, or is the nearest `Double` when it is beyond the range of `Decimal`.
    package static func parse(
        _ bytes: some Collection<UInt8>,
        line: Int = 1,
        depthMax: Int = JSONElement.depthMax
    ) throws(FormatError) -> JSONElement {
        // A zero byte would make the decoder take it for UTF-16.
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw FormatError(line: line, column: 1, "not valid UTF-8")
        }
        let data = Data(bytes)
        let decoder = JSONDecoder()
        decoder.userInfo[Self.depthKey] = depthMax
        do {
            return try decoder.decode(JSONElement.self, from: data)
        } catch let fault as DepthFault {
            let message = "more than \(fault.depthMax) arrays and objects in one another"
            throw FormatError(line: Self.isOneLine(data) ? line : 0, message)
        } catch {
            throw Self.syntaxError(in: data, line: line)
        }
    }

    /// On Linux the decoder says no more than that the text is wrong; `JSONSerialization` says what, and mostly where.
    private static func syntaxError(in data: Data, line: Int) -> FormatError {
        var message = "not valid JSON"
        do {
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        } catch {
            let reason = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? ""
            if let match = reason.wholeMatch(of: /(.+) around character (\d+)\./), let index = Int(match.2) {
                return FormatError(at: index, in: data, firstLine: line, "not valid JSON: \(match.1)")
            }
            if !reason.isEmpty { message += ": \(reason.hasSuffix(".") ? String(reason.dropLast()) : reason)" }
        }
        return FormatError(line: Self.isOneLine(data) ? line : 0, message)
    }

    private static func isOneLine(_ data: Data) -> Bool { !data.contains(UInt8(ascii: "\n")) }

    fileprivate static let depthKey = CodingUserInfoKey(rawValue: "depthMax")!
}

private struct DepthFault: Error {
    var depthMax: Int
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
            guard decoder.codingPath.count < depthMax else { throw DepthFault(depthMax: depthMax) }
            if let elements = try Self.ofType({ try value.decode([JSONElement].self) }) {
                self = .array(elements)
            } else {
                let members = try value.decode([String: JSONElement].self)
                self = .object(members.map { Member($0.key, $0.value) }.sorted { $0.name < $1.name })
            }
        }
    }

    /// What is decoded; `nil` when the value is of another type.
    private static func ofType<Value>(_ decode: () throws -> Value) throws -> Value? {
        do { return try decode() } catch DecodingError.typeMismatch { return nil }
    }

    /// Not as an integer: the decoder would round 9007199254740992.5 to one.
    private static func digits(_ value: any SingleValueDecodingContainer) throws -> String {
        let double = try value.decode(Double.self)
        guard let decimal = try? value.decode(Decimal.self) else { return "\(double)" }
        // A decimal number has no negative zero.
        if double == 0, double.sign == .minus { return "-0" }
        let digits = "\(decimal)"
        return Double(digits) == double ? digits : "\(double)"
    }
}
