import NIOHTTP1

/// What the web port accepts of a head that swift-nio has decoded, so that no proxy in front of nestd can read it in
/// another way.
extension HTTPRequestHead {
    func check() throws(WebRefusal) {
        guard self.uri.utf8.first == 0x2f, self.uri.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw WebRefusal(.badRequest, "the target of a request must be a path")
        }
        guard self.values("content-length").allSatisfy({ $0 == "0" }), self.values("transfer-encoding").isEmpty else {
            throw .body
        }
    }

    /// Returns the values of all fields of a name, without the spaces around them.
    package func values(_ name: String) -> [String] {
        self.headers[name].map { value in
            let bytes = value.utf8.drop { $0 == 0x20 || $0 == 0x09 }
            let count = bytes.reversed().drop { $0 == 0x20 || $0 == 0x09 }.count
            return String(Substring(bytes.prefix(count)))
        }
    }

    /// Returns the value of a field that may occur once.
    package func value(_ name: String) throws(WebRefusal) -> String? {
        let values = self.values(name)
        guard values.count <= 1 else { throw WebRefusal(.badRequest, "the field \(name) occurs more than once") }
        return values.first
    }

    /// Returns the elements of the lists in all fields of a name. Within a value only token characters, commas and
    /// spaces are allowed: a decoder may read a list with others in another way. Tabs around it are not part of it.
    package func tokens(_ name: String) throws(WebRefusal) -> [String] {
        let tokens = self.headers[canonicalForm: name]
        guard !tokens.contains(where: { $0.utf8.contains(0x20) }),
            self.values(name).allSatisfy({ $0.utf8.allSatisfy { Self.isToken($0) || $0 == 0x2c || $0 == 0x20 } })
        else { throw WebRefusal(.badRequest, "the field \(name) must be a list of names with commas between them") }
        return tokens.filter { !$0.isEmpty }.map { String($0) }
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// Whether the connection can stay open after the answer. After a head with `Upgrade` the decoder may not read
    /// another one, whether or not the server takes the offer. It does not see a `close` before a tab.
    package func keepsConnection() throws(WebRefusal) -> Bool {
        let closes = try self.tokens("connection").contains { $0.lowercased() == "close" }
        return self.isKeepAlive && !closes && !self.headers.contains(name: "upgrade")
    }
}

extension WebRefusal {
    static let body = WebRefusal(.badRequest, "a request to this port has no body")
}
