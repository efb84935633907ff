import NestModel
import NestDocuments
import NestTestSupport
import Testing

@Suite struct ModelJSONTests {
    /// A draft that is written and read is unchanged, and so is the model that it compiles to.
    @Test func modelsRoundTripAsText() throws {
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let draft = random.modelDraft()
            let model = try draft.compile()
            let text = ModelJSON.text(of: draft)
            let read = try readModel(text)
            #expect(read.draft == draft && read.warnings.isEmpty, "seed \(seed)")
            #expect(ModelJSON.text(of: read.draft) == text, "seed \(seed)")
            #expect(try readModel(ModelJSON.line(of: draft)).draft == draft, "seed \(seed)")
            #expect(try readModel(ModelJSON.text(of: model)).draft.compile() == model, "seed \(seed)")
        }
    }

    @Test func theBuiltInModelHasThisText() throws {
        let text = """
            {
              "format": "nest-model",
              "version": 1,
              "entities": [
                {
                  "name": "Item",
                  "root": {"relationship": "parent", "object": 1},
                  "attributes": [
                    {"name": "title", "type": "string"},
                    {"name": "note", "type": "string", "optional": true},
                    {"name": "done", "type": "boolean", "default": false},
                    {"name": "extra", "type": "string", "optional": true}
                  ],
                  "relationships": [
                    {"name": "parent", "destination": "Item", "inverse": "children"},
                    {"name": "children", "destination": "Item", "inverse": "parent", "toMany": true, "ordered": true, "deleteRule": "cascade"}
                  ]
                }
              ]
            }

            """
        #expect(ModelJSON.text(of: .nestedList) == text)
        #expect(try readModel(text).draft.compile() == .nestedList)
    }

    @Test func valuesOfEveryTypeAreRead() throws {
        func value(_ type: String, _ json: String) throws -> AttributeValue {
            let attribute = #"{"name": "a", "type": "\#(type)", "default": \#(json)}"#
            return try readModel(#"{"entities": [{"name": "E", "attributes": [\#(attribute)]}]}"#).draft.entities[0]
                .attributes[0].defaultValue
        }
        #expect(try value("string", #""a\u00e9\ud83d\ude00\n""#) == .string("a\u{e9}\u{1f600}\n"))
        #expect(try value("integer", "-9223372036854775808") == .integer(.min))
        #expect(try value("double", #""-Infinity""#) == .double(-.infinity))
        #expect(try value("float", #""Infinity""#) == .double(.infinity))
        #expect(try value("double", "3") == .double(3))
        #expect(try value("double", "1.7976931348623157e308") == .double(.greatestFiniteMagnitude))
        #expect(try value("float", "0.1") == .double(Double(Float(0.1))))
        #expect(try value("decimal", #""1.50""#) == .string("1.5"))
        #expect(try value("decimal", "12345678901234567890.10") == .string("12345678901234567890.1"))
        #expect(try value("boolean", "true") == .boolean(true))
        #expect(try value("date", #""2026-11-21""#) == .date(1_795_219_200_000_000))
        #expect(try value("date", "-1") == .date(-1))
        #expect(try value("data", #""AAE=""#) == .data([0, 1]))
        #expect(try value("uuid", #""00000000-0000-0000-0000-00000000000F""#) == .uuid(Identifier128(high: 0, low: 15)))
        #expect(try value("string", "null") == .null)
    }

    @Test func datesMayDefaultToNow() throws {
        let text = #"{"entities": [{"name": "E", "attributes": [{"name": "at", "type": "date", "default": "now"}]}]}"#
        let attribute = try readModel(text).draft.entities[0].attributes[0]
        #expect(attribute.defaultsToNow && attribute.defaultValue.isNull)
        #expect(faults(text.replacing("default", with: "minimum")).count == 1)
    }

    /// Each fault names its path and what is allowed there.
    @Test(arguments: [
        (#"{"entities": {}}"#, "entities: an array is expected, not an object"),
        (#"{"entities": [3]}"#, "entities[0]: an object is expected, not 3"),
        (
            #"{"entities": [{"colour": 1}]}"#,
            "entities[0].colour: not known here; the known names are name, renamedFrom, parent"
        ),
        (#"{"entities": [{}]}"#, "entities[0].name: it is missing"),
        (#"{"entities": [{"name": ""}]}"#, "entities[0].name: it is empty"),
        (
            #"{"entities": [{"name": "E", "abstract": 1}]}"#,
            "entities[0].abstract: true or false is expected, not 1"
        ),
        (
            #"{"entities": [{"name": "E", "attributes": [{"name": "a"}]}]}"#,
            "entities[0].attributes[0].type: it is missing; one of string, integer"
        ),
        (
            #"{"entities": [{"name": "E"}, {"name": "F", "attributes": [{"name": "a", "type": "text"}]}]}"#,
            "entities[1].attributes[0].type: 'text' is not one of string, integer"
        ),
        (
            #"{"entities": [{"name": "E", "attributes": [{"name": "a", "type": "integer", "default": 1.5}]}]}"#,
            "entities[0].attributes[0].default: a whole number is expected, not 1.5"
        ),
        (
            #"{"entities": [{"name": "E", "attributes": [{"name": "a", "type": "date", "default": "soon"}]}]}"#,
            #"entities[0].attributes[0].default: a date like "2026-11-21T09:30:00Z", or "now" is expected, not "soon""#
        ),
        (
            #"{"entities": [{"name": "E", "attributes": [{"name": "a", "type": "string", "maximum": "b"}]}]}"#,
            "entities[0].attributes[0].maximum: a whole number is expected"
        ),
        (
            #"{"entities": [{"name": "E", "relationships": [{"name": "r", "inverse": "r"}]}]}"#,
            "entities[0].relationships[0].destination: it is missing"
        ),
        (
            #"{"entities": [{"name": "E", "relationships": [{"name": "r", "destination": "E", "inverse": "r", "deleteRule": "drop"}]}]}"#,
            "entities[0].relationships[0].deleteRule: 'drop' is not one of nullify, cascade, deny"
        ),
        (#"{"entities": [{"name": "E", "unique": ["a"]}]}"#, "entities[0].unique[0]: an array of names is expected"),
        (
            #"{"entities": [{"name": "E", "root": {"relationship": "r", "object": 0}}]}"#,
            "entities[0].root.object: a whole number from 1"
        ),
        (#"{"format": "other", "entities": []}"#, "format: 'other' is not nest-model"),
        (#"{"version": 2, "entities": []}"#, "version: a whole number from 1 to 1 is expected, not 2"),
        ("{\n \"entities\": [,]}", "line 2, column 15: not valid JSON: Invalid value"),
        ("{", "line 1, column 2: not valid JSON: Unexpected end of file"),
        ("{\n", "line 2, column 1: not valid JSON: Unexpected end of file"),
        ("{\"a\": 01}", "line 1, column 8: not valid JSON: Number with leading zero"),
        ("{\"a\": \"\\x\"}", "Invalid escape sequence"), ("{\"a\": \"\\ud800\"}", "not valid JSON"),
        ("{} {}", "line 1, column 4: not valid JSON"), ("{\"a\": tru}", "not valid JSON"),
        ("{\"a\": \"\n\"}", "Unescaped control character"), ("{\"a\": \"", "not valid JSON"),
        ("{\"a\": 1e999}", "line 1: not valid JSON: Number 1e999 is not representable"),
        ("{\"a\": \"\0\"}", "it is not UTF-8 text"),
    ])
    func faultsNameTheirPathAndWhatIsAllowed(_ text: String, _ fault: String) {
        let list = faults(text)
        #expect(list.contains { $0.contains(fault) }, "\(list)")
    }

    @Test func onlyJSONNumbersAreRead() throws {
        func isRead(_ number: String) -> Bool {
            let list = faults(#"{"entities": [], "version": \#(number)}"#)
            return !list.contains { $0.contains("not valid JSON") }
        }
        for text in ["0", "-0", "10", "1.5", "-0.25", "1e5", "1E+5", "2.5e-10"] { #expect(isRead(text), "\(text)") }
        for text in ["01", "-", "-01", "1.", ".5", "1e", "1e+", "+1", "1-2", "1.2.3", "1e5.0", "--1", "e5"] {
            #expect(!isRead(text), "\(text)")
        }
    }

    @Test func floatsBeyondTheirRangeAreFaults() throws {
        let text = #"{"entities": [{"name": "E", "attributes": [{"name": "a", "type": "float", "default": 1e39}]}]}"#
        #expect(faults(text) == ["E.a: its default is beyond the range of a float"])
    }

    /// The example in docs/models.md compiles, and the page names every attribute type and delete rule.
    @Test func theExampleInTheDocumentationCompiles() throws {
        let document = try Repository.text("docs/models.md")
        let example = try #require(document.firstMatch(of: /```json\n(.*?)```/.dotMatchesNewlines())?.1)
        let read = try readModel(String(example))
        #expect(try read.draft.compile().entities.map(\.name) == ["Person", "Phone"])
        for type in AttributeType.allCases { #expect(document.contains("`\(type)`"), "\(type)") }
        for rule in DeleteRule.allCases { #expect(document.contains("`\(rule)`"), "\(rule)") }
    }

    @Test func depthIsLimited() {
        let deep = "{\"entities\": " + String(repeating: "[", count: 1_000_000)
        #expect(
            faults(deep).first?.contains("Too many nested") == true
        )
        let deeper = "{\"entities\": " + String(repeating: "[", count: Limits.modelFileDepthMax)
        #expect(
            faults(deeper + String(repeating: "]", count: Limits.modelFileDepthMax) + "}")
                == ["line 1: arrays and objects nest more than 32 deep"]
        )
    }

    @Test func everyTruncationIsAnError() {
        var random = SeededRandom(seed: 7)
        let text = ModelJSON.line(of: random.modelDraft(entities: 8))
        let bytes = Array(text.utf8)
        for count in 0..<bytes.count {
            do {
                _ = try ModelFile.read(Array(bytes[..<count]), name: "cut")
                Issue.record("the first \(count) bytes were read")
            } catch {
                #expect(!error.faults.isEmpty)
            }
        }
    }
}
