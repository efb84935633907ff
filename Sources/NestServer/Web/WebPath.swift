/// The path of a request below the root: names that are safe to open one after the other.
package struct WebPath: Equatable, Sendable {
    /// The decoded names. Each is UTF-8, is not empty, and begins with no dot.
    package let names: [String]
    /// Whether the path ends with a slash, and so names a directory.
    package let isDirectory: Bool
    /// The path as it was sent, without the query.
    package let text: String

    /// Whether this is the path of the protocol.
    package var isProtocol: Bool { self.names == ["nest"] && !self.isDirectory }

    /// The path of a file.
    init(names: [String]) {
        self.names = names
        self.isDirectory = false
        self.text = "/" + names.joined(separator: "/")
    }

    /// Reads the target of a request. It decodes percent signs once, and works on bytes: a name in UTF-8 may have
    /// scalars that join with the slash before them.
    package init(target: String) throws(WebRefusal) {
        let path = target.utf8.prefix { $0 != 0x3f }
        self.text = String(decoding: path, as: UTF8.self)
        let parts = path.dropFirst().split(separator: 0x2f, omittingEmptySubsequences: false)
        self.isDirectory = parts.last?.isEmpty != false
        var names: [String] = []
        for part in self.isDirectory ? parts.dropLast() : parts { names.append(try Self.name(part)) }
        self.names = names
    }

    private static func name(_ part: Substring.UTF8View.SubSequence) throws(WebRefusal) -> String {
        let bytes = try Self.decoded(Array(part))
        // No name leads up, to a hidden file, or through a part that the client has hidden from a proxy.
        guard let first = bytes.first, first != 0x2e,
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f && $0 != 0x2f && $0 != 0x5c }),
            let name = String(validating: bytes, as: UTF8.self)
        else { throw .noFile }
        return name
    }

    private static func decoded(_ bytes: [UInt8]) throws(WebRefusal) -> [UInt8] {
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard bytes[index] == 0x25 else {
                decoded.append(bytes[index])
                index += 1
                continue
            }
            guard index + 2 < bytes.count, let high = Self.digit(bytes[index + 1]),
                let low = Self.digit(bytes[index + 2])
            else { throw WebRefusal(.badRequest, "two hexadecimal digits must follow a percent sign") }
            decoded.append(high << 4 | low)
            index += 3
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}

extension WebRefusal {
    static let noFile = WebRefusal(.notFound, "there is no such file")
}
