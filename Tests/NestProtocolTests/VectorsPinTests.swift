import NestModel
import NestTestSupport
import NestProtocol
import Testing

@Suite struct VectorsPinTests {
    /// The FNV-1a hashes of vector files for each version of the protocol.
    ///
    /// Bytes in use must not change: a changed vector needs a new version. Change the pins of a version only before its
    /// release, or if vectors were only added, or if only the words of an error or a note changed.
    private static let pins: [UInt8: [String: String]] = [
        1: [
            "frames": "69cb065ffda5b36a", "predicates": "04673460d98c2c6f", "requests": "b27cddcd2b7b65ae",
            "folding": "114310058ba45539", "sortkeys": "efae386b8cdc53f4",
            "refusals": "ca3ab4856629ddb3", "models": "7bc4256c142c8954",
        ]
    ]

    @Test func vectorsOfAProtocolVersionDoNotChange() throws {
        for (file, pin) in try #require(Self.pins[ProtocolVersion.highest]) {
            let hash = Hex.text(fnv1a(try Repository.bytes("Tests/Vectors/\(file).json")))
            #expect(pin == hash, "\(file).json")
        }
    }
}
