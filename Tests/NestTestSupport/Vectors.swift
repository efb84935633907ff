import Foundation
import NestFraming

/// Test vectors: bytes and their meaning, written from `protocol.md` and shared with clients in other languages.
public enum Vectors {
    /// One frame: its header and body, and the fields of its message.
    public struct Frame: Sendable, CustomStringConvertible {
        public let name: String
        public let type: String
        /// The sender: `client` or `server`.
        public let direction: String
        public let id: UInt32
        public let flags: UInt8
        /// Whether the bytes decode to `fields` but are not the canonical encoding.
        public let decodesOnly: Bool
        /// How many bytes at the end of the body may be absent, with another meaning. Later parts may be absent alone.
        public let optionalBytes: [Int]
        public let fields: JSONValue
        public let hex: String
        public let bytes: [UInt8]

        public var description: String { self.name }
    }

    /// An input that must be refused, with the expected code.
    public struct Negative: Sendable, CustomStringConvertible {
        public let name: String
        public let kind: String
        public let json: JSONValue

        public var description: String { self.name }
    }

    public static func frames() throws -> [Frame] {
        try self.list("frames").map { json in
            let hex = try json["hex"].text
            return Frame(
                name: try json["name"].text,
                type: try json["type"].text,
                direction: try json["direction"].text,
                id: UInt32(try json["id"].int),
                flags: UInt8(try json["flags"].int),
                decodesOnly: json.optional("decodesOnly")?.isTrue ?? false,
                optionalBytes: try json.optional("optionalBytes").map { value in
                    if case .integer(let count) = value { [Int(count)] } else { try value.elements.map { try $0.int } }
                } ?? [],
                fields: try json["fields"],
                hex: hex,
                bytes: try Hex.bytes(hex)
            )
        }
    }

    /// Returns the negative vectors of a kind: `frame`, `compressed`, `preface`, `value`, `message`, `apply`,
    /// `connection`.
    public static func negative(_ kind: String) throws -> [Negative] {
        let found = try self.list("negative").filter { try $0["kind"].text == kind }
        guard !found.isEmpty else { throw VectorError("no negative vector of the kind \(kind)") }
        return try found.map { Negative(name: try $0["name"].text, kind: kind, json: $0) }
    }

    /// Returns the content of `Tests/Vectors/<name>.json`.
    public static func file(_ name: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(Repository.bytes("Tests/Vectors/\(name).json")))
    }

    /// Returns the elements of `Tests/Vectors/<name>.json`.
    public static func list(_ name: String) throws -> [JSONValue] {
        let bytes = try Repository.bytes("Tests/Vectors/\(name).json")
        return try JSONDecoder().decode([JSONValue].self, from: Data(bytes))
    }
}

public enum Hex {
    /// Returns the bytes of hexadecimal digits. White space is ignored.
    public static func bytes(_ text: String) throws -> [UInt8] {
        let digits = text.utf8.filter { ![0x20, 0x0a, 0x0d, 0x09].contains($0) }
        guard digits.count.isMultiple(of: 2) else { throw VectorError("an odd number of digits: \(text)") }
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                throw VectorError("not hexadecimal: \(text)")
            }
            return byte
        }
    }

    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// Returns 16 hexadecimal digits.
    public static func text(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
