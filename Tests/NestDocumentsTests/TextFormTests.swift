import NestDocuments
import NestModel
import NestTestSupport
import Testing

@Suite struct DateTextTests {
    @Test func knownDatesAreReadAndWritten() {
        let known: [(Int64, String)] = [
            (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (4_107_542_399_000_001, "2100-02-28T23:59:59.000001Z"),
            (-62_135_596_800_000_000, "0001-01-01T00:00:00.000000Z"),
        ]
        for (microseconds, text) in known {
            #expect(DateText.text(microseconds: microseconds) == text)
            #expect(DateText.microseconds(text) == microseconds)
        }
    }

    @Test func shorterFormsAndTimeZonesAreRead() {
        #expect(DateText.microseconds("1970-01-02") == 86_400_000_000)
        #expect(DateText.microseconds("1970-01-01T00:01") == 60_000_000)
        #expect(DateText.microseconds("1970-01-01 00:00:01.5") == 1_500_000)
        #expect(DateText.microseconds("1970-01-01T01:00:00+01:00") == 0)
        #expect(DateText.microseconds("1969-12-31T23:30:00-0030") == 0)
    }

    @Test func otherTextIsRefused() {
        for text in [
            "", "1970", "1970-13-01", "1970-02-29", "1900-02-29", "1970-01-01T24:00", "1970-01-01T00:60",
            "1970-01-01T00:00:00.", "1970-01-01T00:00:00Zx", "1970-1-1", "x970-01-01", "1970-01-01T",
        ] {
            #expect(DateText.microseconds(text) == nil, "\(text)")
        }
    }

    @Test func datesRoundTrip() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            // The years 1 to 9999.
            let microseconds = Int64.random(
                in: -62_135_596_800_000_000..<253_402_300_800_000_000,
                using: &random
            )
            #expect(DateText.microseconds(DateText.text(microseconds: microseconds)) == microseconds, "seed \(seed)")
        }
        // Dates outside these years have a text too and do not trap.
        #expect(DateText.text(microseconds: .min).hasSuffix("Z"))
        #expect(DateText.text(microseconds: .max).hasSuffix("Z"))
    }
}

@Suite struct Base64Tests {
    /// RFC 4648, section 10.
    @Test func knownTextsAreReadAndWritten() {
        let known = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=",
            "foobar": "Zm9vYmFy",
        ]
        for (plain, text) in known {
            #expect(Base64.text(Array(plain.utf8)) == text)
            #expect(Base64.bytes(text) == Array(plain.utf8))
        }
        for text in ["Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9*", "Zm9v "] {
            #expect(Base64.bytes(text) == nil, "\(text)")
        }
    }

    @Test func bytesRoundTrip() {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let bytes = (0..<random.below(40)).map { _ in UInt8(random.below(256)) }
            #expect(Base64.bytes(Base64.text(bytes)) == bytes, "seed \(seed)")
        }
    }
}

@Suite struct JSONWriterTests {
    private func text(_ value: AttributeValue) -> String {
        var json = JSONWriter()
        json.value(value)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func valuesAreWrittenAsJSON() {
        #expect(text(.null) == "null")
        #expect(text(.boolean(true)) == "true")
        #expect(text(.integer(.min)) == "-9223372036854775808")
        #expect(text(.double(1)) == "1")
        #expect(text(.double(-0.5)) == "-0.5")
        #expect(text(.double(1e300)) == "1e+300")
        #expect(text(.double(-.infinity)) == "\"-Infinity\"")
        #expect(text(.date(0)) == "\"1970-01-01T00:00:00.000000Z\"")
        #expect(text(.data([0xff])) == "\"/w==\"")
        #expect(text(.uuid(Identifier128(high: 0xab, low: 1))) == "\"00000000-0000-00ab-0000-000000000001\"")
        #expect(text(.reference(ObjectID(7))) == "7")
        #expect(text(.string("a\"\\\n\r\t\u{1}\u{7f}é😀")) == "\"a\\\"\\\\\\n\\r\\t\\u0001\\u007fé😀\"")
    }

    @Test func elementsAreSeparatedByCommas() {
        let json = JSONWriter.object { json in
            json.field("a", 1)
            json.key("b")
            json.array([[1, 2], []]) { json, inner in json.array(inner) { $0.integer($1) } }
            json.key("c")
            json.object { _ in }
            json.field("d", "x")
        }
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"a":1,"b":[[1,2],[]],"c":{},"d":"x"}"#)
    }
}
