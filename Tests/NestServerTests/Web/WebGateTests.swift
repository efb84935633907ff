import NIOCore
import NestModel
import NestServer
import Testing

/// `Host` and `Origin` decide which pages reach the server.
struct WebGateTests {
    private static let reached = try? SocketAddress(ipAddress: "192.168.1.5", port: 7_080)

    private static func status(
        _ fields: String,
        _ gate: WebGate,
        at reached: SocketAddress? = WebGateTests.reached
    ) throws -> Int? {
        let head = try #require(try HeadReader.read("GET / HTTP/1.1\r\n\(fields)\r\n"))
        do throws(WebRefusal) {
            try gate.check(head, at: reached)
            return nil
        } catch {
            return error.status.rawValue
        }
    }

    private static func gate(
        host: String = "127.0.0.1",
        names: [String] = [],
        origins: [String] = [],
        isEncrypted: Bool = false
    ) -> WebGate {
        let origins = origins.compactMap { WebOrigin($0) }
        let web = WebConfiguration(host: host, port: 7_080, names: names, origins: origins)
        return WebGate(web, isEncrypted: isEncrypted)
    }

    @Test(arguments: [
        "localhost", "LOCALHOST:7080", "127.0.0.1:7080", "127.8.9.10", "[::1]:7080", "[0:0::1]", "192.168.1.5:1",
        "nest.example.org", "Nest.Example.ORG:443", "own",
    ])
    func namesOfThisServerAreAnswered(_ host: String) throws {
        let gate = Self.gate(host: "own", names: ["Nest.example.org"])
        #expect(try Self.status("Host: \(host)\r\n", gate) == nil)
    }

    /// A socket for both kinds of addresses reports an IPv4 address as an IPv6 address.
    @Test func anAddressThatAnIPv6SocketReportsIsOwn() throws {
        let reached = try SocketAddress(ipAddress: "::ffff:192.168.1.5", port: 7_080)
        for host in ["192.168.1.5:7080", "[::ffff:192.168.1.5]"] {
            #expect(try Self.status("Host: \(host)\r\n", Self.gate(host: "::"), at: reached) == nil)
        }
        #expect(try Self.status("Host: 192.168.1.6\r\n", Self.gate(host: "::"), at: reached) == 421)
    }

    /// The refusal of an address advises a name that works.
    @Test func anIPv6AddressCanBeAName() throws {
        let head = try #require(try HeadReader.read("GET / HTTP/1.1\r\nHost: [2001:DB8::5]:7080\r\n\r\n"))
        let refusal = #expect(throws: WebRefusal.self) { try Self.gate().check(head, at: Self.reached) }
        #expect(refusal?.text.hasSuffix("--web-name [2001:db8::5]") == true)
        for name in ["[2001:db8::5]", "[2001:DB8:0::5]"] {
            #expect(try Self.status("Host: [2001:db8::5]:7080\r\n", Self.gate(names: [name])) == nil)
        }
        #expect(try Self.status("Host: [2001:db8::5]\r\n", Self.gate(host: "2001:db8::5")) == nil)
    }

    /// A page whose name leads to this machine is of the same origin as this server in the eyes of the browser.
    @Test(arguments: [
        ("evil.example", 421), ("localhost.evil.example", 421), ("localhost.", 421), ("127.1", 421),
        ("0177.0.0.1", 421),
        ("127.0.0.1.evil.example", 421), ("192.168.1.6", 421), ("[::2]", 421), ("sub.nest.example.org", 421),
        ("", 400), ("localhost:", 400), ("localhost:0", 400), ("localhost:65536", 400), ("localhost:7080x", 400),
        ("user@localhost", 400), ("localhost/a", 400), ("[::1", 400), ("[::1]x", 400), ("[fe80::1%lo]", 400),
        ("::1", 400),
        ("localhost, localhost", 400), (":80", 400), ("localhost\r\nHost: localhost", 400),
    ])
    func otherHostsAreRefused(_ host: String, _ status: Int) throws {
        #expect(try Self.status("Host: \(host)\r\n", Self.gate(names: ["nest.example.org"])) == status)
        #expect(try Self.status("", Self.gate()) == 400)
    }

    @Test func pagesOfThisServerAndOfAllowedOriginsMayConnect() throws {
        let gate = Self.gate(origins: ["http://localhost:3000", "https://App.example.org:443", "app://here"])
        for origin in [
            "http://localhost:7080", "HTTP://LOCALHOST:7080", "http://localhost:3000", "https://app.example.org",
            "app://here",
        ] {
            #expect(try Self.status("Host: localhost:7080\r\nOrigin: \(origin)\r\n", gate) == nil, "\(origin)")
        }
        #expect(try Self.status("Host: localhost\r\nOrigin: http://localhost:80\r\n", gate) == nil)
        #expect(try Self.status("Host: [::1]:80\r\nOrigin: http://[0::1]\r\n", gate) == nil)
    }

    @Test(arguments: [
        "null", "", "https://localhost", "https://localhost:7080", "http://localhost", "http://localhost:7081",
        "http://127.0.0.1:7080", "http://evil.example", "http://localhost:7080.evil.example",
        "http://localhost:7080/", "http://localhost:7080@evil.example", "localhost:7080", "http://evil.example:3000",
        "http://localhost:3000, http://localhost:7080", "file://",
    ])
    func pagesOfOtherOriginsAreRefused(_ origin: String) throws {
        let gate = Self.gate(origins: ["https://app.example.org"])
        #expect(try Self.status("Host: localhost:7080\r\nOrigin: \(origin)\r\n", gate) == 403)
    }

    /// The scheme belongs to the origin: a page over TLS is not a page of a port without it, and the reverse.
    @Test func theSchemeOfAnOriginIsThatOfThePort() throws {
        let fields = ["http", "https"].map { "Host: localhost\r\nOrigin: \($0)://localhost\r\n" }
        #expect(try fields.map { try Self.status($0, Self.gate()) } == [nil, 403])
        #expect(try fields.map { try Self.status($0, Self.gate(isEncrypted: true)) } == [403, nil])
        let two = "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n"
        #expect(try Self.status(two, Self.gate()) == 400)
    }
}
