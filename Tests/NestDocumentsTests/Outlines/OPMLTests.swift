import Foundation
import NestDocuments
import NestModel
import NestTestSupport
import Testing

/// Finds the outline elements of a document by a scan of its tags that shares no code with nest's reader. It
/// understands tags whose values are in double quotes, and character references.
private enum Elements {
    static func of(_ bytes: [UInt8]) -> [String] {
        var found: [String] = []
        var depth = 0
        let tag = /<(\/?)(\w+)((?:\s+[^\s=]+="[^"]*")*)\s*(\/?)>/
        for match in String(decoding: bytes, as: UTF8.self).matches(of: tag) {
            let (_, close, name, attributes, selfClose) = match.output
            guard close.isEmpty else {
                depth -= 1
                continue
            }
            if name == "outline" { found.append("\(depth) \(Self.attributes(attributes))") }
            if selfClose.isEmpty { depth += 1 }
        }
        #expect(depth == 0)
        return found
    }

    private static func attributes(_ text: Substring) -> [String] {
        text.matches(of: /([^\s=]+)="([^"]*)"/).map { "\($0.1)=\(Self.resolved($0.2))" }.sorted()
    }

    private static func resolved(_ value: Substring) -> String {
        String(value).replacing(/&(#?)(x?)(\w+);/) { match in
            let (_, isNumber, isHexadecimal, name) = match.output
            guard isNumber.isEmpty else {
                return String(Unicode.Scalar(UInt32(name, radix: isHexadecimal.isEmpty ? 10 : 16)!)!)
            }
            return ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]["\(isHexadecimal)\(name)"]!
        }
    }
}

/// Returns the names of each outline element's attributes, in the order of the text.
private func attributeOrders(_ bytes: [UInt8]) -> [[String]] {
    String(decoding: bytes, as: UTF8.self).split(separator: "<").filter { $0.hasPrefix("outline") }.map { tag in
        tag.matches(of: /\s([^\s=]+)="[^"]*"/).map { String($0.1) }
    }
}

private func outline(_ body: String, head: String = "<head/>") -> String {
    "<?xml version=\"1.0\"?><opml version=\"2.0\">\(head)<body>\(body)</body></opml>"
}

@Suite struct OPMLTests {
    /// Files of three programs are read and written with the same elements and attributes, in the same order.
    @Test(arguments: ["workflowy", "dynalist", "omnioutliner"])
    func foreignFilesRoundTrip(_ name: String) throws {
        let bytes = try Repository.bytes("Tests/Fixtures/outlines/\(name).opml")
        let rows = try readOutline(bytes, .opml).rows
        let written = try writeOutline(rows, .opml)
        #expect(Elements.of(written.bytes) == Elements.of(bytes))
        #expect(attributeOrders(written.bytes) == attributeOrders(bytes))
        #expect(written.warnings == [])
        for pieceBytes in [1, 7, 100] {
            #expect(try readOutline(bytes, .opml, pieceBytes: pieceBytes).rows == rows)
        }
    }

    /// Any elements and attributes are unchanged after they are read and written, with their texts read as HTML or not.
    @Test func attributesRoundTripInTheirOrder() throws {
        let names = [
            "text", "title", "_note", "_complete", "complete", "_status", "checked", "extra", "id", "note", "done",
            "Ümlaut-1",
        ]
        let words = [
            "true", "false", "checked", "unchecked", "indeterminate", "yes", "", "<b>x</b>", "a &lt; b", "{}", "null",
        ]
        for seed in 0..<800 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var body = ""
            var depth = 0
            for _ in 0..<random.below(12) {
                while depth > 0, random.oneIn(2) {
                    body += "</outline>"
                    depth -= 1
                }
                body += "<outline"
                for name in names.shuffled(using: &random) where random.oneIn(3) {
                    let value = random.oneIn(2) ? words[random.below(words.count)] : HardOutlines.text(&random)
                    body += " \(name)=\"\(Self.escaped(value))\""
                }
                body += ">"
                depth += 1
            }
            body += String(repeating: "</outline>", count: depth)
            let bytes = Array(outline(body).utf8)
            for hasHTML in [true, false] {
                let rows = try readOutline(bytes, .opml, ReadingOptions(hasHTML: hasHTML)).rows
                let written = try writeOutline(rows, .opml).bytes
                #expect(Elements.of(written) == Elements.of(bytes), "seed \(seed), HTML \(hasHTML): \(body)")
                let orders = attributeOrders(bytes)
                #expect(attributeOrders(written) == orders, "seed \(seed), HTML \(hasHTML): \(body)")
            }
        }
    }

    private static func escaped(_ value: String) -> String {
        value.unicodeScalars.map { "&#\($0.value);" }.joined()
    }

    @Test func textsOfWorkflowyAreReadAsHTML() throws {
        let bytes = try Repository.bytes("Tests/Fixtures/outlines/workflowy.opml")
        let rows = try readOutline(bytes, .opml).rows
        #expect(
            rows.map { "\($0.depth)|\($0.title)\($0.done ? "|x" : "")\($0.note.map { "|\($0)" } ?? "")" } == [
                "0|Trip north #travel|first line\nsecond & last", "1|Tom & Jerry <3|x", "2|", "2|a link",
                "1|bold begins here", "1|and ends here", "1|Sat, Nov 21 meet|", "0|Second \u{a0}top",
            ]
        )
        let plain = try readOutline(bytes, .opml, ReadingOptions(hasHTML: false)).rows
        #expect(plain[1].title == "Tom &amp; Jerry &lt;3")
        #expect(plain[1].extra == #"{"attribute order": "_complete text"}"#)
        #expect(plain[2].extra == nil)
    }

    /// Attributes keep their order through edits; new ones come last.
    @Test func editsKeepTheOrderOfAttributes() throws {
        let bytes = Array(outline(#"<outline b="1" _note="n" text="t" a="2"/><outline text="u" a="1"/>"#).utf8)
        var rows = try readOutline(bytes, .opml).rows
        #expect(rows[0].extra == #"{"a": "2", "attribute order": "b _note text a", "b": "1"}"#)
        #expect(rows[1].extra == #"{"a": "1"}"#)
        rows[0].note = nil
        rows[0].done = true
        rows[0].title = "T"
        rows[0].extra = #"{"a":"2","attribute order":"b _note text a","b":"1","c":"3"}"#
        let written = try writeOutline(rows, .opml)
        #expect(
            attributeOrders(written.bytes) == [["b", "text", "a", "_complete", "c"], ["text", "a"]],
            "\(String(decoding: written.bytes, as: UTF8.self))"
        )
        #expect(written.warnings == [])
    }

    @Test func omissionsAreCounted() throws {
        let dynalist = try readOutline(try Repository.bytes("Tests/Fixtures/outlines/dynalist.opml"), .opml)
        #expect(dynalist.warnings == ["elements of the head left out (title, flavor, source): 3"])
        #expect(
            dynalist.rows.map(brief) == [
                "0|**Groceries** <today>|{\"attribute order\": \"text colorLabel collapsed\", \"collapsed\": \"true\", "
                    + "\"colorLabel\": \"2\"}",
                "1|Milk|x|{\"attribute order\": \"text checkbox complete\", \"checkbox\": \"true\", "
                    + "\"complete\": \"true\"}",
                "1|Bread|note:dark\nor rye|{\"attribute order\": \"text checkbox _note\", \"checkbox\": \"true\"}",
                "1|[link](https://example.org)|{\"heading\": \"2\", \"listStyle\": \"numbered\"}",
                "0|tab\tand quote \"",
            ]
        )
        let body = "<outline text='a'>loose<b><outline text='in b'/></b></outline><!-- c --><outline text='d'/>"
        let odd = try readOutline(Array(outline(body).utf8), .opml)
        #expect(odd.rows.map(brief) == ["0|a", "0|d"])
        #expect(
            odd.warnings == [
                "comments left out: 1", "elements that are not outlines left out: 1",
                "texts between the tags left out: 1",
            ]
        )
    }

    /// A title is no loss if the first item has it, or if it is the one of untitled documents.
    @Test(arguments: [
        ("nest", "x", true), ("a &amp; b", "a &amp; b", true), ("a", "b", false), ("", "b", true), ("Nest", "b", false),
    ])
    func titlesOfNestsOwnDocumentsAreNoLoss(_ title: String, _ first: String, isKept: Bool) throws {
        let text = outline(
            "<outline text='\(first)'/><outline text='z'/>",
            head: "<head><title>\(title)</title></head>"
        )
        for pieceBytes in [1, 1_000] {
            let warnings = try readOutline(Array(text.utf8), .opml, pieceBytes: pieceBytes).warnings
            #expect(warnings == (isKept ? [] : ["elements of the head left out (title): 1"]))
        }
        #expect(try writtenText([OutlineRow(depth: 0, title: "a")], .opml).contains("<title>nest</title>"))
    }

    /// Everything outside of the outline elements is counted, with its names.
    @Test func headsCommentsAndInstructionsAreCounted() throws {
        let text = """
            <?xml version="1.0"?>
            <?xml-stylesheet href="a.css"?>
            <!-- made by hand --><!-- <?x?> -->
            """
        let head = "<head id='h'><title>T</title><!-- c --><ownerEmail>a@b</ownerEmail><dateCreated/><title/></head>"
        let body = "<body>x &amp; y<outline text='a'/>z</body>"
        let file = "\(text)<opml version='2.0' xmlns:a='u'>\(head)\(body)</opml><!-- end -->"
        for pieceBytes in [1, 10, 1_000] {
            let read = try readOutline(Array(file.utf8), .opml, pieceBytes: pieceBytes)
            #expect(read.rows.map(brief) == ["0|a"])
            #expect(
                read.warnings == [
                    "attributes of opml, head and body left out (xmlns:a, id): 2", "comments left out: 4",
                    "elements of the head left out (title, ownerEmail, dateCreated): 4",
                    "processing instructions left out: 1", "texts between the tags left out: 2",
                ]
            )
        }
        let many = (0..<20).map { "<e\($0)/>" }.joined()
        #expect(
            try readOutline(Array(outline("", head: "<head>\(many)</head>").utf8), .opml).warnings
                == ["elements of the head left out (e0, e1, e2, e3, e4, e5, e6, e7, …): 20"]
        )
    }

    /// Declarations of namespaces keep their place among the attributes. A part of a file may use a prefix that only
    /// another part declares.
    @Test func namespacesKeepTheirPlaceAndPrefixesNeedNoDeclaration() throws {
        let body = """
            <outline text="a" xmlns:x="u" x:b="1"
                _note = 'n "' xmlns="v"><outline y:c="2" text="b &gt; c" xmlns:z='w'/></outline><outline x:b="3" text=""/>
            """
        let bytes = Array(outline(body, head: "").utf8)
        for pieceBytes in [1, 9, 1_000] {
            let rows = try readOutline(bytes, .opml, pieceBytes: pieceBytes).rows
            let written = try writeOutline(rows, .opml)
            #expect(
                attributeOrders(written.bytes) == [
                    ["text", "xmlns:x", "x:b", "_note", "xmlns"], ["y:c", "text", "xmlns:z"], ["x:b", "text"],
                ],
                "\(String(decoding: written.bytes, as: UTF8.self))"
            )
            #expect(written.warnings == [])
            #expect(try readOutline(written.bytes, .opml).rows == rows)
        }
    }

    /// An edited row is written as edited, with the attributes that its file uses.
    @Test func editedRowsAreWrittenAsEdited() throws {
        var rows = try readOutline(try Repository.bytes("Tests/Fixtures/outlines/omnioutliner.opml"), .opml).rows
        #expect(rows.map(\.done) == [true, false, false, false, false, false])
        #expect(rows.map(\.title) == ["Write", "Draft", "Review", "Feed", "Only a title", "More"])
        rows[0].done = false
        rows[1].done = true
        rows[4].title = "Changed"
        rows[3].done = true
        let text = try writtenText(rows, .opml)
        #expect(text.contains(#"<outline text="Write" _status="unchecked" Owner="Ann" Duration="3">"#), "\(text)")
        #expect(text.contains(#"<outline text="Draft" _status="checked"/>"#), "\(text)")
        #expect(text.contains(#"<outline title="Changed"/>"#), "\(text)")
        #expect(text.contains(#"<outline text="Feed" _complete="true" title="The Feed""#), "\(text)")

        var html = try readOutline(try Repository.bytes("Tests/Fixtures/outlines/workflowy.opml"), .opml).rows
        html[3].title = "now <plain>"
        html[1].done = false
        let edited = try writtenText(html, .opml)
        #expect(edited.contains(#"<outline text="now &amp;lt;plain&amp;gt;"/>"#), "\(edited)")
        #expect(edited.contains(#"<outline text="Tom &amp;amp; Jerry &amp;lt;3">"#), "\(edited)")
    }

    @Test func elementsMayHaveNoText() throws {
        let rows = try readOutline(Array(outline("<outline/><outline _note='n'/>").utf8), .opml).rows
        #expect(rows.map(\.title) == ["", ""])
        let text = try writtenText(rows, .opml)
        #expect(text.contains("    <outline/>\n    <outline _note=\"n\"/>\n"), "\(text)")
    }

    @Test func encodingsAndByteOrderMarksAreRecognised() throws {
        let body = "<opml><body><outline text='\u{e9}'/></body></opml>"
        #expect(
            try readOutline([0xef, 0xbb, 0xbf] + Array(body.utf8), .opml, pieceBytes: 1).rows.map(\.title) == ["é"]
        )
        let latin = Array("<?xml version='1.0' encoding='ISO-8859-1'?><opml><body><outline text='".utf8) + [0xe9]
        #expect(try readOutline(latin + Array("'/></body></opml>".utf8), .opml).rows.map(\.title) == ["é"])
        // The declaration counts however the file is split, also after a byte order mark.
        for pieceBytes in [1, 4, 100] {
            let error = #expect(throws: FormatError.self) {
                try readOutline([0xef, 0xbb, 0xbf] + latin, .opml, pieceBytes: pieceBytes)
            }
            #expect(error?.message.contains("mark of UTF-8, but declares the encoding ISO-8859-1") == true)
        }
        #expect(fault([0xff, 0xfe, 0x3c, 0x00, 0x6f, 0x00], .opml)?.message.contains("UTF-16") == true)
        #expect(
            fault("<?xml version='1.0' encoding='UTF-7'?><opml/>", .opml)
                == FormatError(
                    line: 1,
                    column: 1,
                    "the encoding is UTF-7; convert the file to UTF-8 and declare encoding=\"UTF-8\""
                )
        )
        let entities = outline("<outline text='&lt;&#233;&#x1F600;&apos;&#10;&#9;.'/>")
        #expect(try brief(entities, .opml) == ["0|<é😀'\n\t."])
        // XML parsers replace a line end in an attribute by a space, unless it is written as a reference.
        #expect(try brief(outline("<outline text='a\nb'/>"), .opml) == ["0|a b"])
    }

    @Test func errorsHaveALocation() throws {
        #expect(
            fault("<opml><body>\n<outline text=\"a & b\"/></body></opml>", .opml)?.description
                == "line 2, column 19: an & that begins no reference; write &amp;"
        )
        let unfinished = fault("<opml>\n<body>\n<outline text='a'>", .opml)
        #expect(unfinished?.line == 3, "\(String(describing: unfinished))")
        #expect(fault("<opml>\n<body><outline text='a'></body></opml>", .opml)?.message.contains("end tag") == true)
        #expect(fault("", .opml)?.message == "the file is empty")
        #expect(fault("plain text", .opml)?.line == 1)
        #expect(
            fault("<html><body/></html>", .opml)?.message
                == "not OPML: the outermost element is <html>; <opml> is expected"
        )
        #expect(
            fault(outline("<outline text='a' text='b'/>"), .opml)?.message
                == "an element has an attribute twice: text; remove one"
        )
        let long = String(repeating: "x", count: Limits.valueBytesMax + 1)
        #expect(
            fault(outline("<outline/>\n<outline text='\(long)'/>"), .opml)?.message
                == "a title of more than \(Limits.valueBytesMax) bytes"
        )
        // Text after the last element is a fault, although all elements were read.
        #expect(fault(outline("<outline text='a'/>") + "x", .opml) != nil)
    }

    @Test func nothingOutsideTheFileIsOpened() throws {
        let declaration = "<?xml version='1.0'?>\n <!DOCTYPE opml [<!ENTITY a SYSTEM '/etc/passwd'>]>"
        let text = declaration + "<opml><body><outline text='&a;'/></body></opml>"
        for pieceBytes in [1, 3, 1_000] {
            do throws(FormatError) {
                _ = try readOutline(Array(text.utf8), .opml, pieceBytes: pieceBytes)
                Issue.record("a document type declaration was read")
            } catch {
                #expect(error.line == 2 && error.column == 2, "\(error)")
            }
        }
        // Processing instructions are skipped.
        let styled =
            "<?xml version='1.0'?><?name?><?xml-stylesheet href='a.css'?>\n<opml><body><outline text='a'/></body></opml>"
        for pieceBytes in [1, 5, 1_000] {
            #expect(try readOutline(Array(styled.utf8), .opml, pieceBytes: pieceBytes).rows.map(\.title) == ["a"])
        }
    }

    @Test func charactersOutsideXMLAreReplacedAndCounted() throws {
        let extra = #"{"a b": "x", "n": [1, 2], "ok": "y"}"#
        let rows = [OutlineRow(depth: 0, title: "a\u{1}b\u{ffff}", extra: extra)]
        let written = try writeOutline(rows, .opml)
        #expect(
            written.warnings == [
                "characters replaced (XML cannot hold them): 2",
                "members of extra left out (XML allows no such name): 1",
                "members of extra written as text (an attribute has no other type): 1",
            ]
        )
        #expect(
            try readOutline(written.bytes, .opml).rows.map(brief)
                == ["0|a\u{fffd}b\u{fffd}|{\"n\": \"[1, 2]\", \"ok\": \"y\"}"]
        )
    }

    /// A reader may be dropped before the end of its file.
    @Test func unfinishedReadersAreFreed() throws {
        for _ in 0..<200 {
            var reader = OutlineFormat.opml.reader()
            var rows: [OutlineRow] = []
            try reader.read(Array("<opml><body><outline text='a'/>".utf8), into: &rows)
            #expect(rows.count == 1)
        }
    }
}
