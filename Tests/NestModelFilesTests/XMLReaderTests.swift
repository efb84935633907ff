import NestModel
import NestTestSupport
import Testing

@testable import NestModelFiles

@Suite struct XMLReaderTests {
    private func parse(_ text: String) throws(SyntaxFault) -> XMLElement { try XMLReader.parse(Array(text.utf8)) }

    @Test func elementsAttributesAndReferencesAreRead() throws {
        let root = try self.parse(
            "\u{feff}<?xml version='1.0'?><!-- a --><a x='1' y = \"&lt;&#65;&#x42;&amp;&quot;&apos;&gt;\n\u{e9}\">"
                + "<?pi?><b/> <!-- <c/> --><b z=''></b ><![CDATA[<&]]></a><!-- end -->\n"
        )
        #expect(root.name == "a")
        #expect(root.attributes == ["x": "1", "y": "<AB&\"'> \u{e9}"])
        #expect(root.children.map(\.name) == ["b", "b"])
        #expect(root.text == "<&")
        #expect(root.children[1]["z"] == "" && root.children[1].text("z") == nil)
    }

    @Test(arguments: [
        ("", "line 1, column 1"), ("text", "line 1, column 1"), ("<a", "column 3"),
        ("<a>\n <b>\n</a>", "line 3, column 1"),
        ("<a x=1/>", "column 4"), ("<a x/>", "column 5"), ("<a x='1' x='2'/>", "column 10"), ("<a x='<'/>", "column 4"),
        ("<a/><b/>", "column 5"), ("<a x='1'y='2'/>", "column 9"), ("<a>&nbsp;</a>", "column 4"),
        ("<a>&#0;</a>", "column 4"), ("<a>&#xd800;</a>", "column 4"), ("<a>&#x110000;</a>", "column 4"),
        ("<a>&lt</a>", "column 4"),
        ("<a>\u{1}</a>", "column 4"), ("<a><!-- </a>", "column 4"), ("<1/>", "column 2"),
        ("<a>\u{e9}\u{1f600}<</a>", "column 7"),
        ("<?xml encoding='UTF-16'?><a/>", "UTF-16"), ("<?xml encoding=\"utf-7\"?><a/>", "utf-7"),
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

    @Test func depthIsLimited() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        _ = try self.parse(nested(Limits.modelFileDepthMax))
        #expect(throws: SyntaxFault.self) { try self.parse(nested(Limits.modelFileDepthMax + 1)) }
        #expect(throws: SyntaxFault.self) { try self.parse(String(repeating: "<a>", count: 1_000_000)) }
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
