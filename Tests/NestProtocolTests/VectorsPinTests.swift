import NestModel
import NestTestSupport
import NestProtocol
import Testing

@Suite struct VectorsPinTests {
    /// The FNV-1a hash of `frames.json` for each version of the protocol.
    ///
    /// Bytes in use must not change: a changed vector needs a new version. Change the pin of a version only before its
    /// release, or if vectors were only added.
    private static let pins: [UInt8: String] = [
        1: "6b12534c44b144e3"
    ]

    @Test func vectorsOfAProtocolVersionDoNotChange() throws {
        let hash = Hex.text(fnv1a(try Repository.bytes("Tests/Vectors/frames.json")))
        #expect(Self.pins[ProtocolVersion.highest] == hash)
    }
}
