import NestModel
import NestTestSupport
import NestProtocol
import Testing

@Suite struct VectorsPinTests {
    /// FNV-1a of `frames.json` for each version of the protocol.
    ///
    /// Bytes that are in use must not change: whoever changes a vector raises the version, or, while a version is not
    /// released or when vectors are only added, says so by changing its pin here.
    private static let pins: [UInt8: String] = [
        1: "618a976a412476cb"
    ]

    @Test func vectorsOfAVersionDoNotChange() throws {
        let hash = Hex.text(fnv1a(try Repository.bytes("Tests/Vectors/frames.json")))
        #expect(Self.pins[ProtocolVersion.highest] == hash)
    }
}
