import NestClient
import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// Lists of servers, as people write them.
@Suite struct ServerAddressesTests {
    @Test func everyFormOfAListIsRead() throws {
        let forms: [(text: String, shown: String, usesTLS: Bool, store: String?)] = [
            ("a", "a:7000", false, nil), ("a,b,c", "a:7000,b:7000,c:7000", false, nil),
            ("a:7001,b,[::1]:7002", "a:7001,b:7000,[::1]:7002", false, nil),
            ("a,b,a:7000", "a:7000,b:7000", false, nil),
            ("nest://a,b:1", "a:7000,b:1", false, nil), ("nests://a,b", "a:7000,b:7000", true, nil),
            ("nest://a,nest://b", "a:7000,b:7000", false, nil), ("tls://a,nests://b", "a:7000,b:7000", true, nil),
            ("nest://a,b/", "a:7000,b:7000", false, nil), (":1,:2", "127.0.0.1:1,127.0.0.1:2", false, nil),
            ("nest://a,b/default", "nest://a:7000,b:7000/default", false, "default"),
            ("nests://a/s", "nest://a:7000/s", true, "s"),
            ("nest://a,nest://b/s", "nest://a:7000,b:7000/s", false, "s"),
        ]
        for (text, shown, usesTLS, store) in forms {
            let servers = try ServerAddresses(text)
            #expect(servers.description == shown && servers.store == store, "\(text)")
            #expect(servers.usesTLS == usesTLS && servers.all.allSatisfy { $0.usesTLS == usesTLS }, "\(text)")
            #expect(try ServerAddresses(servers.text(usesTLS: usesTLS)) == servers, "\(text)")
            #expect(try ServerAddresses(shown).description == shown, "\(text)")
            let configuration = ClientConfiguration(servers, session: .fresh)
            #expect(configuration.endpoints == servers.all && configuration.store == store, "\(text)")
            #expect((configuration.tls != nil) == usesTLS, "\(text)")
        }
    }

    @Test func aListIsRefusedWithThePartThatIsWrong() throws {
        let wrong: [(String, String)] = [
            ("", "has no host and no port"), ("a,", "no address between two commas"), (",a", "no address"),
            ("a,,b", "no address"), ("a,b:x", "'b:x' is not the address"), ("a,nest://b", "behind an address without"),
            ("nest://a,nests://b", "both nest:// and nests://"), ("a,7000", "'7000' is not the address"),
            ("a,b/s", "'b/s' is not the address"), ("nest://a/x,b", "'nest://a/x' is not"), ("a, b", "white space"),
            ("nest://a//", "'/'"), ("nest://a/x/y", "'/'"), ("nest://a/x?y", "'/'"), ("http://a,b", "for the web"),
        ]
        for (text, reason) in wrong {
            let error = #expect(throws: NestError.self) { try ServerAddresses(text) }
            #expect(
                error?.code == .invalid && error?.message.contains(reason) == true,
                "\(text): \(error?.message ?? "")"
            )
        }
        let most = (0..<Limits.serverAddressesMax).map { "h\($0)" }
        #expect(try ServerAddresses(most.joined(separator: ",")).all.count == Limits.serverAddressesMax)
        let error = #expect(throws: NestError.self) { try ServerAddresses((most + ["x"]).joined(separator: ",")) }
        #expect(error?.message.contains("more than \(Limits.serverAddressesMax) addresses") == true)
    }

    /// The simple settings name one server, or the first of several.
    @Test func hostAndPortAreThoseOfTheFirstEndpoint() throws {
        var configuration = ClientConfiguration(host: "h", port: 1, session: .fresh)
        #expect(configuration.endpoints == [ServerAddress(host: "h", port: 1)])
        configuration = ClientConfiguration(try ServerAddresses("a:1,b:2"), session: .fresh)
        configuration.port = 3
        configuration.host = "c"
        #expect(configuration.endpoints.map(\.description) == ["c:3", "b:2"])
        configuration.endpoints = []
        #expect(configuration.host == ServerAddress.defaultHost && configuration.port == ServerAddress.defaultPort)
    }

    /// No text makes it crash, and what it accepts is a list again.
    @Test func anyTextIsReadOrRefused() {
        for seed in Seeds.range(0..<8) {
            var random = SeededRandom(seed: seed)
            let parts = ["nest://", "nests://", "a", "b", ":1", "[::1]", ",", ",", "/", "s", " ", "é", "?", "://"]
            for _ in 0..<Seeds.steps(500) {
                let text = (0..<random.below(9)).map { _ in parts[random.below(parts.count)] }.joined()
                guard let servers = try? ServerAddresses(text) else { continue }
                #expect(
                    !servers.all.isEmpty && Set(servers.all).count == servers.all.count,
                    "NEST_SEED=\(seed): \(text)"
                )
                #expect(
                    (try? ServerAddresses(servers.text(usesTLS: servers.usesTLS))) == servers,
                    "NEST_SEED=\(seed): \(text)"
                )
            }
        }
    }
}
