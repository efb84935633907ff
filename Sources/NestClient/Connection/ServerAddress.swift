import NIOCore
import NestModel

/// The address of a server, as people write it: `HOST:PORT`, `HOST`, `:PORT` or `[IPv6]:PORT`. `nest://` or `tcp://`
/// may precede it, and a slash may follow. With `nests://` or `tls://`, the connection uses TLS.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    public static let defaultHost = "127.0.0.1"
    public static let defaultPort = 7000

    public var host: String
    public var port: Int
    /// Whether the address says that the connection uses TLS.
    public var usesTLS: Bool

    public init(host: String = Self.defaultHost, port: Int = Self.defaultPort, usesTLS: Bool = false) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
    }

    /// Reads an address. Throws with the code `invalid`, and says what is wrong.
    public init(_ text: String) throws(NestError) {
        var rest = text[...]
        self.usesTLS = false
        if let end = text.firstRange(of: "://") {
            self.usesTLS = try Self.usesTLS(scheme: text[..<end.lowerBound].lowercased(), text)
            rest = text[end.upperBound...]
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty else { throw Self.failure(text, "has no host and no port") }
        if let wrong = rest.unicodeScalars.first(where: Self.isForeign) {
            throw Self.failure(text, wrong.value > 0x20 ? "contains '\(wrong)'" : "contains white space")
        }
        let (host, port) = try Self.split(rest, text)
        self.host = host.isEmpty ? Self.defaultHost : String(host)
        self.port = try port.map { port throws(NestError) in try Self.number(port, text) } ?? Self.defaultPort
    }

    /// `HOST:PORT`, with brackets around an IPv6 address.
    public var description: String {
        self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }

    private static func usesTLS(scheme: String, _ text: String) throws(NestError) -> Bool {
        switch scheme {
        case "nest", "tcp": return false
        case "nests", "tls": return true
        case "http", "https", "ws", "wss":
            throw Self.failure(text, "is an address for the web (\(scheme)://), and nest has its own protocol")
        default: throw Self.failure(text, "begins with \(scheme)://, which is not nest:// or, with TLS, nests://")
        }
    }

    /// Returns the host and the text of the port, if any.
    private static func split(_ rest: Substring, _ text: String) throws(NestError) -> (Substring, Substring?) {
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { throw self.failure(text, "has '[' without ']'") }
            let host = rest[rest.index(after: rest.startIndex)..<end]
            guard Self.isIPv6(host) else { throw self.failure(text, "has no IPv6 address in the brackets") }
            let port = rest[rest.index(after: end)...]
            if port.isEmpty { return (host, nil) }
            guard port.hasPrefix(":") else { throw self.failure(text, "has '\(port)' where only :PORT may follow") }
            return (host, port.dropFirst())
        }
        guard !rest.contains(where: { $0 == "[" || $0 == "]" }) else {
            throw self.failure(text, "has brackets that do not enclose an IPv6 address")
        }
        guard let colon = rest.lastIndex(of: ":") else {
            // The system would read a number as an IPv4 address: 7000 is 0.0.27.88.
            guard !rest.allSatisfy({ $0.isASCII && $0.isNumber }) else {
                throw self.failure(text, "is a number: write :\(rest) for the port \(rest) of this machine")
            }
            return (rest, nil)
        }
        if rest.firstIndex(of: ":") == colon { return (rest[..<colon], rest[rest.index(after: colon)...]) }
        guard Self.isIPv6(rest) else { throw self.failure(text, "has several colons, but is no IPv6 address") }
        return (rest, nil)
    }

    private static func number(_ port: Substring, _ text: String) throws(NestError) -> Int {
        guard port.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(port), (1...65_535).contains(number)
        else {
            throw self.failure(text, port.isEmpty ? "has no port after the colon" : "has no port from 1 to 65535")
        }
        return number
    }

    /// Whether a text is an IPv6 address. The name of an interface may follow it: fe80::1%eth0.
    private static func isIPv6(_ host: Substring) -> Bool {
        let address = host.prefix { $0 != "%" }
        return address.contains(":") && (try? SocketAddress(ipAddress: String(address), port: 0)) != nil
    }

    private static func isForeign(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value <= 0x20 || scalar.value == 0x7f || "/@?#\\\"'<>,".unicodeScalars.contains(scalar)
    }

    private static func failure(_ text: String, _ what: String) -> NestError {
        NestError(
            .invalid,
            "'\(text)' is not the address of a server: it \(what). An address is HOST:PORT, such as "
                + "\(Self.defaultHost):\(Self.defaultPort)"
        )
    }
}
