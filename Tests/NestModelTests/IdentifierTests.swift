import NestModel
import NestTestSupport
import Testing

@Suite struct IdentifierTests {
    private let identifier = Identifier128(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)

    @Test func theTextFormsAreLowerCase() {
        #expect(self.identifier.hex == "00112233445566778899aabbccddeeff")
        #expect(self.identifier.uuidString == "00112233-4455-6677-8899-aabbccddeeff")
        #expect("\(self.identifier)" == self.identifier.hex)
        #expect(Identifier128(high: 0, low: 1).hex == "00000000000000000000000000000001")
    }

    @Test func bothTextFormsAreRead() {
        #expect(Identifier128(hex: "00112233445566778899aabbccddeeff") == self.identifier)
        #expect(Identifier128(hex: "00112233-4455-6677-8899-AABBCCDDEEFF") == self.identifier)
    }

    @Test(arguments: [
        "", "0", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeeff0",
        "g0112233445566778899aabbccddeeff",
        " 00112233445566778899aabbccddeeff", "00112233445566778899aabbccddeef\u{301}f",
    ])
    func malformedIdentifiersAreRefused(_ text: String) {
        #expect(Identifier128(hex: text) == nil)
    }

    @Test func identifiersRoundTripAsTextAndBytes() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let identifier = Identifier128.random(using: &random)
            var writer = ByteWriter()
            writer.write(identifier: identifier)
            let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in
                try reader.identifier("id")
            }
            let texts = [identifier.hex, identifier.uuidString].map { Identifier128(hex: $0) }
            if read != identifier || texts != [identifier, identifier] || Hex.text(writer.bytes) != identifier.hex {
                Issue.record("seed \(seed)")
            }
        }
    }

    @Test func identifiersAreOrderedByTheirBytes() {
        let ordered = [(0, 0), (0, 1), (0, UInt64.max), (1, 0), (UInt64.max, 0)].map {
            Identifier128(high: $0.0, low: $0.1)
        }
        #expect(ordered.shuffled().sorted() == ordered)
    }

    @Test func referencesAreIDsOrInsertsOfTheSameTransaction() {
        #expect(ObjectReference.object(ObjectID(7)).rawValue == 7)
        #expect(ObjectReference.inserted(2).rawValue == -2)
    }

    @Test func idsOutsideTheirRangeAreRefused() throws {
        for (value, isValid) in [
            (0, false), (1, true), (UInt64(1) << 53 - 1, true), (1 << 53, false), (1 << 62 - 1, false),
        ] {
            var writer = ByteWriter()
            writer.write(varint: value)
            let read = try? ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in
                try reader.objectID("id")
            }
            #expect((read != nil) == isValid, "\(value)")
        }
    }

    /// Strings are compared by their bytes. "é" as one scalar differs from "é" as two, though they are equal by Swift's
    /// `==`.
    @Test func valuesAreComparedByTheirBytes() {
        let one = "\u{e9}"
        let two = "e\u{301}"
        #expect(one == two)
        #expect(AttributeValue.string(one) != .string(two))
        #expect(AttributeValue.double(0) != .double(-0.0))
        #expect(AttributeValue.integer(0) != .date(0))
        #expect(Set<AttributeValue>([.string(one), .string(two), .string(one)]).count == 2)
    }
}
