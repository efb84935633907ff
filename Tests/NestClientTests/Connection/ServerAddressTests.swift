import NestClient
import NestTestSupport
import Testing

/// Addresses of servers, as people write them.
@Suite struct ServerAddressTests {
    @Test func everyFormIsRead() throws {
        let forms: [(String, String, Int, Bool)] = [
            ("127.0.0.1:7001", "127.0.0.1", 7001, false), ("localhost", "localhost", 7000, false),
            (":7001", "127.0.0.1", 7001, false), ("[::1]:7001", "::1", 7001, false), ("[::1]", "::1", 7000, false),
            ("::1", "::1", 7000, false), ("[fe80::1%eth0]:7001", "fe80::1%eth0", 7001, false),
            ("nest://h:7001", "h", 7001, false), ("nest://h", "h", 7000, false), ("nest://h/", "h", 7000, false),
            ("tcp://10.0.0.5:7001/", "10.0.0.5", 7001, false), ("NEST://h", "h", 7000, false),
            ("nests://h", "h", 7000, true), ("tls://[::1]:7001/", "::1", 7001, true), ("h:7001/", "h", 7001, false),
            ("my-host.example.org.:65535", "my-host.example.org.", 65_535, false), ("7k", "7k", 7000, false),
            ("nest://:1", "127.0.0.1", 1, false),
        ]
        for (text, host, port, usesTLS) in forms {
            let address = try ServerAddress(text)
            #expect(address == ServerAddress(host: host, port: port, usesTLS: usesTLS), "\(text): \(address)")
            // The description is an address again.
            let again = try ServerAddress(address.description)
            #expect(again.host == host && again.port == port, "\(text): \(address)")
        }
        #expect(try ServerAddress("[::1]").description == "[::1]:7000")
        #expect(ClientConfiguration(try ServerAddress("nests://h:1"), session: .fresh).tls == ClientTLS())
        #expect(ClientConfiguration(try ServerAddress("nest://h:1"), session: .fresh).tls == nil)
    }

    @Test func everythingElseIsRefusedWithAReason() {
        let wrong: [(String, String)] = [
            ("", "has no host and no port"), ("nest://", "has no host and no port"), ("/", "has no host and no port"),
            ("h:", "has no port after the colon"), ("h:x", "no port from 1 to 65535"), ("h:0", "from 1 to 65535"),
            ("h:65536", "from 1 to 65535"), ("h:+7", "from 1 to 65535"), ("h:99999999999999999999", "from 1 to 65535"),
            ("a:b:c", "several colons"), ("1:2:3", "several colons"), ("[::1", "'[' without ']'"),
            ("[a]:1", "no IPv6 address in the brackets"), ("[::1]7", "where only :PORT may follow"),
            ("a[::1]:7", "brackets"), ("7000", "write :7000"), ("http://h", "for the web"),
            ("https://h:7000/", "for the web"), ("ws://h", "for the web"), ("ftp://h", "ftp://"),
            ("://h", "begins with ://"), ("a b:1", "white space"), ("h:1\n", "white space"), ("7@h", "'@'"),
            ("h/1", "'/'"), ("nest://h//", "'/'"), ("h?x", "'?'"),
        ]
        for (text, reason) in wrong {
            let error = #expect(throws: NestError.self) { try ServerAddress(text) }
            #expect(error?.code == .invalid, "\(text)")
            #expect(error?.message.contains(reason) == true, "\(text): \(error?.message ?? "")")
        }
    }

    /// No text makes it crash, and what it accepts is an address again.
    @Test func anyTextIsReadOrRefused() {
        for seed in Seeds.range(0..<8) { self.tryTexts(seed) }
    }

    private func tryTexts(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let parts = [
            "nest://", "nests://", "http://", "[", "]", ":", "::", "1", "7000", "h", ".", "/", "@", "%", " ", "é",
        ]
        for _ in 0..<Seeds.steps(500) {
            let text = (0..<random.below(6)).map { _ in parts[random.below(parts.count)] }.joined()
            guard let address = try? ServerAddress(text) else { continue }
            #expect(!address.host.isEmpty && (1...65_535).contains(address.port), "NEST_SEED=\(seed): \(text)")
            let again = try? ServerAddress(address.description)
            #expect(again?.host == address.host && again?.port == address.port, "NEST_SEED=\(seed): \(text)")
        }
    }
}
