import NIOCore
import NestModel
import NestProtocol

/// The head of an HTTP request.
///
/// It accepts a strict part of HTTP/1.1, so that no proxy in front of nestd can read the same bytes in another way:
/// lines end with CR LF, no field is folded, and no request has a body. Everything else is refused.
package struct WebHead: Equatable, Sendable {
    /// A field, with its name in lower case.
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String
    }

    package let method: String
    /// The target as it was sent: a path, maybe with a query.
    package let target: String
    /// Whether the request is of HTTP/1.1, and not of 1.0.
    package let isCurrent: Bool
    package let fields: [Field]

    /// Takes the next head from `buffer`. Returns `nil` while it is incomplete.
    package static func read(from buffer: inout ByteBuffer) throws(WebRefusal) -> WebHead? {
        let view = buffer.readableBytesView.prefix(Limits.webHeadBytesMax)
        guard let length = Self.length(of: view) else {
            guard buffer.readableBytes < Limits.webHeadBytesMax else {
                throw WebRefusal(.headTooLarge, "the head of a request has at most \(Limits.webHeadBytesMax) bytes")
            }
            return nil
        }
        let bytes = buffer.readBytes(length: length) ?? []
        return try WebHead(lines: bytes.dropLast(4))
    }

    /// Returns the number of bytes up to and including the empty line that ends a head.
    private static func length(of bytes: some BidirectionalCollection<UInt8>) -> Int? {
        var matched = 0
        var count = 0
        for byte in bytes {
            count += 1
            switch (matched, byte) {
            case (0, 0x0d), (2, 0x0d): matched += 1
            case (1, 0x0a): matched = 2
            case (3, 0x0a): return count
            default: matched = byte == 0x0d ? 1 : 0
            }
        }
        return nil
    }

    private init(lines bytes: ArraySlice<UInt8>) throws(WebRefusal) {
        let lines = try Self.lines(bytes)
        let parts = lines[0].split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(Self.isToken),
            parts[1].first == 0x2f, parts[1].allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else {
            throw WebRefusal(.badRequest, "the first line must be a method, a path and a version")
        }
        switch String(decoding: parts[2], as: UTF8.self) {
        case "HTTP/1.1": self.isCurrent = true
        case "HTTP/1.0": self.isCurrent = false
        default: throw WebRefusal(.versionNotSupported, "this port speaks HTTP/1.1")
        }
        self.method = String(decoding: parts[0], as: UTF8.self)
        self.target = String(decoding: parts[1], as: UTF8.self)
        guard lines.count <= Limits.webFieldsMax + 1 else {
            throw WebRefusal(.headTooLarge, "a request has at most \(Limits.webFieldsMax) fields")
        }
        var fields: [Field] = []
        for line in lines.dropFirst() { fields.append(try Self.field(line)) }
        self.fields = fields
        guard self.values("content-length").allSatisfy({ $0 == "0" }), self.values("transfer-encoding").isEmpty else {
            throw WebRefusal(.badRequest, "a request to this port has no body")
        }
    }

    /// Splits lines at CR LF. A CR or LF of its own is a fault.
    private static func lines(_ bytes: ArraySlice<UInt8>) throws(WebRefusal) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        var index = start
        while index < bytes.endIndex {
            if bytes[index] == 0x0d, index + 1 < bytes.endIndex, bytes[index + 1] == 0x0a {
                lines.append(bytes[start..<index])
                index += 2
                start = index
            } else if bytes[index] == 0x0d || bytes[index] == 0x0a {
                throw WebRefusal(.badRequest, "lines must end with CR LF")
            } else {
                index += 1
            }
        }
        lines.append(bytes[start...])
        return lines
    }

    private static func field(_ line: ArraySlice<UInt8>) throws(WebRefusal) -> Field {
        guard let colon = line.firstIndex(of: 0x3a), colon > line.startIndex,
            line[..<colon].allSatisfy(Self.isToken)
        else {
            throw WebRefusal(.badRequest, "a field must be a name, a colon and a value")
        }
        var value = line[(colon + 1)...]
        value = value.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
        guard value.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }) else {
            throw WebRefusal(.badRequest, "a field must not contain control characters")
        }
        let name = line[..<colon].map { 0x41...0x5a ~= $0 ? $0 | 0x20 : $0 }
        return Field(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
    }

    /// Whether a byte may be in a token of HTTP.
    package static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
        }
    }

    // MARK: Fields

    /// Returns the values of all fields of a name, which is in lower case.
    package func values(_ name: String) -> [String] { self.fields.filter { $0.name == name }.map(\.value) }

    /// Returns the value of a field that may occur once.
    package func value(_ name: String) throws(WebRefusal) -> String? {
        let values = self.values(name)
        guard values.count <= 1 else { throw WebRefusal(.badRequest, "the field \(name) occurs more than once") }
        return values.first
    }

    /// Returns the elements of the lists in all fields of a name. Only token characters, commas and spaces are allowed.
    package func tokens(_ name: String) throws(WebRefusal) -> [String] {
        var tokens: [String] = []
        for value in self.values(name) {
            guard value.utf8.allSatisfy({ Self.isToken($0) || $0 == 0x2c || $0 == 0x20 }) else {
                throw WebRefusal(.badRequest, "the field \(name) must be a list of names")
            }
            for part in value.utf8.split(separator: 0x2c) {
                let words = part.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
                guard words.count <= 1 else {
                    throw WebRefusal(.badRequest, "the field \(name) must have commas between its names")
                }
                tokens += words
            }
        }
        return tokens
    }

    /// Whether the client wants the connection to stay open after the answer.
    package func keepsConnection() throws(WebRefusal) -> Bool {
        let options = try self.tokens("connection").map { $0.lowercased() }
        return self.isCurrent ? !options.contains("close") : options.contains("keep-alive")
    }
}
