import NestClient
import NestTestSupport
import Testing

@Suite struct PeerNameTests {
    @Test func serverNamesMatchTheCertificate() {
        for (name, pattern) in [
            ("nest.example.org", "nest.example.org"), ("NEST.Example.org.", "nest.example.ORG"),
            ("localhost", "localhost"),
            ("a.example.org", "*.example.org"),
        ] {
            #expect(PeerName.matches(name, pattern: pattern), "\(name) \(pattern)")
        }
        for (name, pattern) in [
            ("nest.example.org", "example.org"), ("example.org", "*.example.org"), ("a.b.example.org", "*.example.org"),
            ("example.org", "*.org"), ("localhost", "*"), ("nest.example.org", "n*.example.org"), ("", ""), (".", "*"),
            ("nest.example.org.evil", "nest.example.org"), ("a.example.org", "*.*.org"),
        ] {
            #expect(!PeerName.matches(name, pattern: pattern), "\(name) \(pattern)")
        }
    }

    @Test func tokensAreNotSentToOtherMachinesWithoutTLS() {
        for address in ["127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"] {
            #expect(ClientConfiguration.staysOnThisMachine(address), "\(address)")
        }
        for address in ["10.0.0.1", "192.0.2.1", "::2", "fe80::1", "::ffff:10.0.0.1", "1127.0.0.1", ""] {
            #expect(!ClientConfiguration.staysOnThisMachine(address), "\(address)")
        }
    }
}
