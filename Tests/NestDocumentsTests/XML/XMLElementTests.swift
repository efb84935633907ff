import NestModel
import NestTestSupport
import Testing

@testable import NestDocuments

@Suite struct XMLReaderTests {
    private func parse(_ text: String) throws(FormatError) -> XMLElement { try XMLReader.parse(Array(text.utf8)) }

    @Test func elementsAttributesAndReferencesAreRead() throws {
        let root = try self.parse(
            "\u{feff}<?xml version='1.0'?><!-- a --><a x='1' y = \"&lt;&#65;&#x42;&amp;&quot;&apos;&gt;\n\u{e9}\">"
                + "<b/> <!-- <c/> --><b z=''></b ><![CDATA[<&]]></a><!-- end -->\n"
        )
        #expect(root.name == "a")
        #expect(root.attributes == ["x": "1", "y": "<AB&\"'> \u{e9}"])
        #expect(root.children.map(\.name) == ["b", "b"])
        #expect(root.text == " <&")
        #expect(root.children[1]["z"] == "" && root.children[1].text("z") == nil)
    }

    @Test(arguments: [
        ("", "line 1, column 1: the XML ends too early"), ("text", "line 1, column 1: an element is expected here"),
        ("<a", "column 3"), ("\n<a>", "line 2, column 4"), ("<a>\n <b>\n</a>", "line 3, column 5: the end tag"),
        ("<a x=1/>", "column 6: the value of an attribute is not in quotes"), ("<a x/>", "column 5: = and a value"),
        ("<a x='1' x='2'/>", "column 15: an element has an attribute twice"), ("<a x='<'/>", "column 7: a <"),
        ("<a/><b/>", "column 5"), ("<a x='1'y='2'/>", "column 9"), ("<a>&nbsp;</a>", "column 10: an entity"),
        ("<a>&#0;</a>", "column 8"), ("<a>&#xd800;</a>", "column 12"), ("<a>&#x110000;</a>", "column 14"),
        ("<a>&lt</a>", "column 7: a reference"), ("<a>\u{1}</a>", "column 4: a character"),
        ("<a><!-- </a>", "column 13: a comment has no end"), ("<1/>", "column 2: a name is expected here"),
        ("<a>\u{e9}\u{1f600}<</a>", "column 7: a name is expected here"), ("<x:a/>", "prefix of a namespace"),
        ("<?xml encoding='UTF-16'?><a/>", "UTF-16"), ("<?xml version='1.0' encoding=\"utf-7\"?><a/>", "utf-7"),
        ("<a>\n<?pi?></a>", "line 2, column 1: a processing instruction"), ("<?pi x?><a/>", "column 1: a processing"),
        ("<?xmlx?><a/>", "column 1: a processing"), ("<?xml?><a/>", "column 1: a processing"),
        ("<a> <?xml version='1.0'?></a>", "column 5: a processing instruction"),
    ])
    func malformedTextIsRefusedWhereItIs(_ text: String, place: String) {
        do {
            _ = try self.parse(text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error.description.contains(place), "\(text): \(error)")
        }
    }

    /// Entities, and so bombs of entities and files named by them, need a document type.
    @Test func documentTypesAreRefused() {
        let bomb = """
            <?xml version="1.0"?>
            <!DOCTYPE model [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>
            <model name="&b;&c;"/>
            """
        #expect(faults(bomb) == ["line 2, column 1: a document type declaration is not read; no model needs one"])
        #expect(!faults("<model name='&b;'/>").isEmpty)
    }

    /// Text of which the parser would take the encoding to be UTF-16, so that a declaration in it is not seen.
    @Test func zeroBytesAreRefused() {
        let hidden = "<!DOCTYPE model [<!ENTITY a \"b\">]><model/>".utf8.flatMap { byte -> [UInt8] in [byte, 0] }
        #expect(throws: ModelFileError(.invalid, name: "hidden", faults: ["it is not UTF-8 text"])) {
            try ModelFile.read(hidden, name: "hidden")
        }
    }

    /// More than the parser takes in one piece.
    @Test func longTextIsReadWhole() throws {
        let children = String(repeating: "<b x='\u{e9}'>y</b>\n", count: 100_000)
        let root = try self.parse("<a>\(children)</a>")
        #expect(root.children.count == 100_000)
        #expect(root.children.allSatisfy { $0.attributes == ["x": "\u{e9}"] && $0.text == "y" })
    }

    @Test func depthIsLimited() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        _ = try self.parse(nested(Limits.modelFileDepthMax))
        #expect(throws: FormatError.self) { try self.parse(nested(Limits.modelFileDepthMax + 1)) }
        #expect(throws: FormatError.self) { try self.parse(String(repeating: "<a>", count: 1_000_000)) }
    }

    /// Every beginning of a model is an error, and never the end of the process.
    @Test func everyTruncationIsAnError() {
        let bytes = Array(Samples.harbour.utf8)
        let end = bytes.lastIndex(of: UInt8(ascii: ">"))!
        for count in 0...end {
            do {
                _ = try ModelFile.read(Array(bytes[..<count]), name: "cut")
                Issue.record("the first \(count) bytes were read")
            } catch {
                if error.faults.isEmpty { Issue.record("nothing is said of the first \(count) bytes") }
            }
        }
    }

    /// Bytes changed at random are read or refused, both without harm.
    @Test func changedBytesDoNoHarm() {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var bytes = Array(Samples.harbour.utf8)
            for _ in 0..<1 + random.below(4) {
                let at = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: at)
                default: bytes.insert(random.pick(Array("<>&\"'/= aY0".utf8)), at: at)
                }
            }
            guard let document = try? ModelFile.read(bytes, name: "changed") else { continue }
            _ = try? document.draft.compile()
        }
    }
}
