import NestDocuments
import NestTestSupport
import Testing

@Suite struct JSONElementTests {
    /// Returns the element as JSON, with the escapes of strings resolved.
    private func text(_ element: JSONElement) -> String {
        switch element {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let digits): digits
        case .string(let text):
            String(decoding: JSONWriter.object { $0.field("", text) }.bytes.dropFirst(4).dropLast(), as: UTF8.self)
        case .array(let elements): "[" + elements.map(self.text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.map { self.text(.string($0.name)) + ":" + self.text($0.value) }.joined(separator: ",")
                + "}"
        }
    }

    private func parse(_ text: String) throws(FormatError) -> JSONElement {
        try JSONElement.parse(Array(text.utf8))
    }

    @Test(arguments: [
        ("null", "null"), (" true ", "true"), ("false", "false"), ("[]", "[]"), ("{}", "{}"),
        ("0.1000", "0.1"), ("-0", "-0"), ("-0.0", "-0"), ("12345678901234567890.5e+07", "123456789012345678905000000"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("9007199254740992.5", "9007199254740992.5"), ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"), ("0.30000000000000004", "0.30000000000000004"),
        ("1E-3", "0.001"), ("1e300", "1e+300"), ("4.9e-324", "5e-324"),
        ("1.2345678901234567e-125", "1.2345678901234567e-125"),
        (#"[1, [2 ,{"a":null}] ]"#, #"[1,[2,{"a":null}]]"#), (#"{"b":1,"a":"x"}"#, #"{"a":"x","b":1}"#),
        ("\u{feff}[]", "[]"),
        (#""\u00e9\ud83d\ude00\n\/\"""#, "\"\u{e9}\u{1f600}\\n/\\\"\""), ("\"\u{2028}\"", "\"\u{2028}\""),
    ])
    func validJSONIsParsed(_ input: String, _ expected: String) throws {
        #expect(self.text(try self.parse(input)) == expected)
    }

    @Test(arguments: [
        ("", 1), ("nul", 4), ("{", 2), ("[1 2]", 4), (#"{"a" 1}"#, 6), ("01", 2), ("1.", 3), ("-", 2), (#""a"#, 3),
        (#""\x""#, 2), (#""\u12""#, 7), (#""\ud800""#, 9), (#""\udc00""#, 0), ("\"\u{1}\"", 2), ("1 1", 3), ("+1", 1),
        ("'a'", 1), ("\"\u{ff11}\\u\u{ff11}\"", 0), ("1e999", 0), (#"{"\u00e9é" 1}"#, 12), ("NaN", 1),
        ("[\0]", 2),
    ])
    func invalidJSONIsRefusedWithItsLocation(_ input: String, _ column: Int) {
        let error = #expect(throws: FormatError.self) { try self.parse(input) }
        #expect(error?.column == column, "\(error?.description ?? "")")
    }

    @Test func depthIsLimited() throws {
        let (begin, end) = (String(repeating: "[", count: 64), String(repeating: "]", count: 64))
        _ = try self.parse(begin + end)
        let error = FormatError(line: 1, "arrays and objects nest more than 64 deep")
        #expect(throws: error) { try self.parse("[" + begin + end + "]") }
        #expect(throws: error) { try self.parse("{\"a\":" + begin + end + "}") }
        #expect(throws: FormatError.self) { try self.parse(String(repeating: "[", count: 1_000_000)) }
    }

    @Test func badUTF8IsRefused() {
        #expect(throws: FormatError(line: 3, column: 2, "not valid UTF-8")) {
            try JSONElement.parse([0x22, 0xff, 0x22], line: 3)
        }
    }

    @Test func linesCountFromTheGivenLine() {
        func error(_ text: String) -> FormatError? {
            #expect(throws: FormatError.self) { try JSONElement.parse(Array(text.utf8), line: 7) }
        }
        #expect(error("[1 2]")?.description.hasPrefix("line 7, column 4: not valid JSON: ") == true)
        #expect(error("[\n\n  ?]")?.description.hasPrefix("line 9, column 3: not valid JSON: ") == true)
        #expect(error("[1")?.description.hasPrefix("line 7, column 3: not valid JSON: ") == true)
        #expect(error("[\n")?.description.hasPrefix("line 8, column 1: not valid JSON: ") == true)
    }

    /// The digits that are written for a double parse to the same double.
    @Test func doublesRoundTrip() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let number = Double(bitPattern: random.next())
            guard !number.isNaN else { continue }
            let text = self.text(JSONElement(number))
            let read = try self.parse(text).floatingPoint.flatMap(Double.init)
            #expect(read?.bitPattern == number.bitPattern, "\(text)")
        }
    }

    /// Random text parses or is refused. A parsed element is unchanged after it is written and parsed in each form.
    @Test func randomTextIsReadOrRefused() throws {
        let pieces = ["{", "}", "[", "]", ":", ",", "\"", "\\", "u", "d8", "1", "-", ".", "e", "null", " ", "é", "\n"]
        var readCount = 0
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let text = (0..<random.below(20)).map { _ in random.pick(pieces) }.joined()
            guard let element = try? self.parse(text) else { continue }
            readCount += 1
            try Self.expectRoundTrip(element, "seed \(seed): \(text)")
        }
        #expect(readCount > 100, "\(readCount)")
    }

    @Test func elementsRoundTrip() throws {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            try Self.expectRoundTrip(Self.element(&random, depth: 0), "seed \(seed)")
        }
    }

    private static func expectRoundTrip(_ element: JSONElement, _ comment: Comment) throws {
        var writer = JSONWriter()
        writer.element(element)
        #expect(try JSONElement.parse(writer.bytes) == element, comment)
        #expect(try JSONElement.parse(Array(element.text.utf8)) == element, comment)
        #expect(try JSONElement.parse(Array(element.pretty().utf8)) == element, comment)
    }

    /// Returns a random element, with members in the order of their names, as `parse` returns them.
    private static func element(_ random: inout SeededRandom, depth: Int) -> JSONElement {
        switch random.below(depth > 4 ? 4 : 6) {
        case 0: return .null
        case 1: return .boolean(random.oneIn(2))
        case 2: return .number("\(Int64(bitPattern: random.next()) >> Int64(random.below(64)))")
        case 3: return .string(HardOutlines.text(&random))
        case 4: return .array((0..<random.below(4)).map { _ in Self.element(&random, depth: depth + 1) })
        default:
            let names = Set((0..<random.below(4)).map { _ in HardOutlines.text(&random) }).sorted()
            return .object(names.map { .init($0, Self.element(&random, depth: depth + 1)) })
        }
    }
}
