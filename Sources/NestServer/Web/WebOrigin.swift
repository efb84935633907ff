import NIOCore

/// A host with a port, as `Host` and origins have it: `localhost`, `[::1]:7080`.
package struct WebAuthority: Hashable, Sendable {
    /// In lower case; an IPv6 address without brackets.
    package let host: String
    package let port: Int?

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty, bytes.count <= 261 else { return nil }
        var rest: ArraySlice<UInt8>
        if bytes[0] == 0x5b {
            guard let end = bytes.firstIndex(of: 0x5d) else { return nil }
            // The system writes each address in one way.
            let address = String(decoding: bytes[1..<end], as: UTF8.self)
            guard address.contains(":"), !address.contains("%"),
                let canonical = (try? SocketAddress(ipAddress: address, port: 0))?.ipAddress
            else { return nil }
            self.host = canonical
            rest = bytes[(end + 1)...]
        } else {
            let end = bytes.firstIndex(of: 0x3a) ?? bytes.endIndex
            guard end > 0, bytes[..<end].allSatisfy(Self.isNameByte) else { return nil }
            self.host = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
            rest = bytes[end...]
        }
        guard rest.popFirst() != nil else {
            self.port = nil
            return
        }
        guard rest.startIndex > 0, bytes[rest.startIndex - 1] == 0x3a, (1...5).contains(rest.count),
            rest.allSatisfy({ 0x30...0x39 ~= $0 }), let port = UInt16(String(decoding: rest, as: UTF8.self)), port > 0
        else { return nil }
        self.port = Int(port)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f: true
        default: false
        }
    }
}

/// The origin of a page: scheme, host and port. Without a port it has the one of its scheme.
package struct WebOrigin: Hashable, Sendable {
    package let scheme: String
    package let host: String
    package let port: Int?

    package init(scheme: String, host: String, port: Int?) {
        self.scheme = scheme
        self.host = host
        self.port = port ?? Self.usualPort(scheme)
    }

    /// Reads `https://example.org` or `http://localhost:3000`. Returns `nil` for anything else, and for `null`.
    package init?(_ text: String) {
        guard let end = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<end.lowerBound].lowercased()
        guard let first = scheme.utf8.first, 0x61...0x7a ~= first,
            scheme.utf8.allSatisfy({ 0x61...0x7a ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x2b || $0 == 0x2d || $0 == 0x2e }
            ),
            let authority = WebAuthority(String(text[end.upperBound...]))
        else { return nil }
        self.init(scheme: scheme, host: authority.host, port: authority.port)
    }

    private static func usualPort(_ scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }
}
