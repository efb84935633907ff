import NestFormats
import NestTestSupport
import Testing

@Suite struct JSONElementTests {
    /// Written again as it was read; strings with their escapes resolved.
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
        ("0.1000", "0.1000"), ("-0", "-0"), ("12345678901234567890.5e+07", "12345678901234567890.5e07"),
        ("1E-3", "1e-3"), (#"[1, [2 ,{"a":null}] ]"#, #"[1,[2,{"a":null}]]"#),
        (#"{"b":1,"a":"x"}"#, #"{"b":1,"a":"x"}"#),
        (#""\u00e9\ud83d\ude00\n\/\"""#, "\"\u{e9}\u{1f600}\\n/\\\"\""), ("\"\u{2028}\"", "\"\u{2028}\""),
    ])
    func whatIsWrittenIsRead(_ input: String, _ expected: String) throws {
        #expect(self.text(try self.parse(input)) == expected)
    }

    @Test(arguments: [
        ("", 1), ("nul", 4), ("{", 2), ("[1,]", 4), ("[1 2]", 4), (#"{"a" 1}"#, 6), (#"{"a":1,}"#, 8), ("01", 3),
        ("1.", 3), ("-", 2), (#""a"#, 3), (#""\x""#, 4), (#""\u12""#, 6), (#""\ud800""#, 8), (#""\udc00""#, 8),
        ("\"\u{1}\"", 2), ("1 1", 3), (#"{"a":1,"a":2}"#, 11), ("+1", 1), ("'a'", 1), ("\"\u{ff11}\\u\u{ff11}\"", 5),
    ])
    func whatIsNoJSONIsRefusedWhereItIs(_ input: String, _ column: Int) {
        let error = #expect(throws: FormatError.self) { try self.parse(input) }
        #expect(error?.column == column, "\(error?.description ?? "")")
    }

    @Test func depthIsLimited() throws {
        let most = String(repeating: "[", count: JSONElement.depthMax + 1)
        _ = try self.parse(most + String(repeating: "]", count: JSONElement.depthMax + 1))
        #expect(throws: FormatError.self) { try self.parse("[" + most) }
        #expect(throws: FormatError.self) { try self.parse(String(repeating: "[", count: 1_000_000)) }
    }

    @Test func badUTF8IsRefused() {
        #expect(throws: FormatError(line: 3, column: 1, "not valid UTF-8")) {
            try JSONElement.parse([0x22, 0xff, 0x22], line: 3)
        }
    }

    /// Whatever bytes come, the answer is an element or an error.
    @Test func randomTextNeverTraps() {
        let pieces = ["{", "}", "[", "]", ":", ",", "\"", "\\", "u", "d8", "1", "-", ".", "e", "null", " ", "é", "\n"]
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let text = (0..<random.below(20)).map { _ in random.pick(pieces) }.joined()
            _ = try? self.parse(text)
        }
    }
}
