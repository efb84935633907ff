import NestModel
import NestTestSupport
import Testing

@testable import NestDocuments

@Suite struct XMLElementTests {
    private func parse(_ text: String) throws(FormatError) -> XMLElement { try XMLElement.parse(Array(text.utf8)) }

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
        ("", "line 1, column 1: the file is empty"), ("text", "line 1, column 1: not XML: an element is expected here"),
        ("<a", "column 3: the XML ends too early"),
        ("\n<a>", "line 2, column 4: the XML ends too early: <a> of line 2 has no end tag </a>"),
        ("<a>\n <b>\n</a>", "line 3, column 5: the end tag </a> has another name than the element <b> of line 2"),
        ("<a x=1/>", "column 6: the value of an attribute is not in quotes"),
        ("<a x/>", "column 5: the attribute x has no value; write x=\"\""),
        ("<a x='1' x='2'/>", "column 15: an element has an attribute twice"), ("<a x='<'/>", "column 7: a <"),
        ("<a/><b/>", "column 5: something follows"), ("<a x='1'y='2'/>", "column 9"),
        ("<a>&nbsp;</a>", "column 10: an unknown entity"),
        ("<a>&#0;</a>", "column 8"), ("<a>&#xd800;</a>", "column 12"), ("<a>&#x110000;</a>", "column 14"),
        ("<a>&lt</a>", "column 7: a reference"), ("<a>\u{1}</a>", "column 4: a character"),
        ("<a><!-- </a>", "column 13: a comment has no end"), ("<1/>", "column 2: a < that begins no tag; write &lt;"),
        ("<a>\u{e9}\u{1f600}<</a>", "column 7: a < that begins no tag; write &lt;"),
        ("<x:a/>", "prefix of a namespace"),
        ("<?xml encoding='UTF-16'?><a/>", "UTF-16"), ("<?xml version='1.0' encoding=\"utf-7\"?><a/>", "utf-7"),
        ("<a>\n<?pi?></a>", "line 2, column 1: a processing instruction"), ("<?pi x?><a/>", "column 1: a processing"),
        ("<?xmlx?><a/>", "column 1: a processing"), ("<?xml?><a/>", "column 1: a processing"),
        ("<a> <?xml version='1.0'?></a>", "column 5: a processing instruction"),
    ])
    func malformedXMLIsRefusedWithItsLocation(_ text: String, location: String) {
        do {
            _ = try self.parse(text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error.description.contains(location), "\(text): \(error)")
        }
    }

    /// An error shows the beginning of a long name.
    @Test func longNamesAreCutInErrors() {
        let name = String(repeating: "n", count: 40_000)
        let error = #expect(throws: FormatError.self) { try self.parse("<\(name)><\(name) \(name)='' \(name)=''/>") }
        #expect(error?.message == "an element has an attribute twice: \(name.prefix(60))…; remove one")
        let open = #expect(throws: FormatError.self) { try self.parse("<\(name)>") }
        #expect(
            open?.message
                == "the XML ends too early: <\(name.prefix(60))…> of line 1 has no end tag </\(name.prefix(60))…>"
        )
    }

    /// Entities need a document type declaration. To refuse it also prevents entity bombs and access to other files.
    @Test func documentTypeDeclarationsAreRefused() throws {
        let bomb = """
            <?xml version="1.0"?>
            <!DOCTYPE model [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>
            <model name="&b;&c;"/>
            """
        #expect(faults(bomb) == ["line 2, column 1: a document type declaration (<!DOCTYPE …>) is not read; remove it"])
        #expect(!faults("<model name='&b;'/>").isEmpty)
        #expect(try self.parse("<!-- <!DOCTYPE a> --><a>x<![CDATA[<!DOCTYPE a>]]></a>").text == "x<!DOCTYPE a>")
    }

    /// A parser could read such text as UTF-16, which would hide a declaration.
    @Test func zeroBytesAreRefused() {
        let hidden = "<!DOCTYPE model [<!ENTITY a \"b\">]><model/>".utf8.flatMap { byte -> [UInt8] in [byte, 0] }
        #expect(throws: ModelFileError(.invalid, name: "hidden", faults: ["it is not UTF-8 text"])) {
            try ModelFile.read(hidden, name: "hidden")
        }
    }

    /// The text is longer than the piece that libxml2 receives in one call.
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

    /// Every truncated model is refused with a fault.
    @Test func everyTruncationIsAnError() {
        let bytes = Array(Samples.harbour.utf8)
        let end = bytes.lastIndex(of: UInt8(ascii: ">"))!
        for count in 0...end {
            do {
                _ = try ModelFile.read(Array(bytes[..<count]), name: "cut")
                Issue.record("the first \(count) bytes were read")
            } catch {
                if error.faults.isEmpty { Issue.record("no fault describes the first \(count) bytes") }
            }
        }
    }

    /// libxml2 keeps a tag or a comment in memory until its end.
    @Test func longMarkupIsRefused() throws {
        let max = Limits.xmlMarkupBytesMax
        let long = String(repeating: "x", count: max + (1 << 17))
        for text in ["<a>\n<b c='\(long)'/></a>", "<a>\n<!-- \(long) --></a>"] {
            let error = #expect(throws: FormatError.self) { try self.parse(text) }
            #expect(error?.line == 2, "\(error?.description.prefix(200) ?? "")")
            #expect(error?.message == "a tag, comment, instruction or CDATA section of more than \(max) bytes")
        }
        #expect(try self.parse("<a>\(long)</a>").text.utf8.count == long.utf8.count)
    }

    /// Randomly changed bytes are read or refused. Every element and model that is read is unchanged after it is
    /// written and read again.
    @Test func changedBytesAreReadOrRefused() throws {
        var (elementCount, modelCount) = (0, 0)
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
            if let element = try? XMLElement.parse(bytes) {
                elementCount += 1
                #expect(try XMLElement.parse(Self.written(element)) == element, "seed \(seed)")
            }
            guard let document = try? ModelFile.read(bytes, name: "changed"), (try? document.draft.compile()) != nil
            else { continue }
            modelCount += 1
            let text = ModelJSON.text(of: document.draft)
            #expect(try readModel(text).draft == document.draft, "seed \(seed): \(text)")
        }
        #expect(elementCount > 500 && modelCount > 300, "\(elementCount) elements, \(modelCount) models")
    }

    /// Returns the element as XML, with its text before its children.
    private static func written(_ element: XMLElement) -> [UInt8] {
        var bytes = Array("<\(element.name)".utf8)
        for (name, value) in element.attributes {
            bytes += Array(" \(name)=\"".utf8)
            _ = XMLText.append(attribute: value, to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: ">"))
        _ = XMLText.append(attribute: element.text, to: &bytes)
        for child in element.children { bytes += Self.written(child) }
        return bytes + Array("</\(element.name)>".utf8)
    }
}
