import Foundation
import NestModel
import NestTestSupport
import Testing

@testable import NestDocuments

/// Returns the repaired text, from pieces that end at the given offsets.
private func repaired(_ bytes: [UInt8], cuts: [Int] = []) -> (bytes: [UInt8], counts: RepairCounts) {
    var repair = XMLRepair()
    var output: [UInt8] = []
    var start = 0
    for end in cuts.sorted() {
        output += repair.pass(Array(bytes[start..<end]), isLast: false)
        start = end
    }
    output += repair.pass(Array(bytes[start...]), isLast: true)
    return (output, repair.counts)
}

private func repaired(_ text: String) -> String { String(decoding: repaired(Array(text.utf8)).bytes, as: UTF8.self) }

/// Repairs a whole text by regular expressions, one Unicode scalar a byte. It shares no code with nest's repair.
private struct Oracle {
    private static let html = ["nbsp": 160, "copy": 169, "eacute": 233, "hellip": 8230, "Alpha": 913]
    private static let xml = ["amp", "lt", "gt", "quot", "apos"]

    var output = ""
    var counts = RepairCounts()

    init(_ bytes: [UInt8]) {
        var text = Substring(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })))
        if let found = Self.match(text, /(\u{ef}\u{bb}\u{bf})?[ \t\r\n]+(<\?xml[ \t\r\n])/) {
            let first = text.unicodeScalars.first == "\u{ef}" ? String(text.unicodeScalars.prefix(3)) : ""
            self.output += first
            self.counts[.spaces] += 1
            text = Substring(text.unicodeScalars.dropFirst(found.unicodeScalars.count - 6))
        }
        while !text.isEmpty { text = self.next(text) }
    }

    var bytes: [UInt8] { self.output.unicodeScalars.map { UInt8($0.value) } }

    /// Copies the next part of the text between the tags, and returns the rest.
    private mutating func next(_ text: Substring) -> Substring {
        let markup = /<!--[\s\S]*?(-->|$)|<!\[CDATA\[[\s\S]*?(\]\]>|$)|<!DOCTYPE[^>]*>?|<\?[\s\S]*?(\?>|$)|<\/[^>]*>?/
        if let found = Self.match(text, markup) ?? Self.unfinished(text) {
            self.output += found
            return Self.rest(text, found)
        }
        if let found = Self.match(text, /<[A-Za-z_:\u{0}\u{80}-\u{ff}]("[^"]*("|$)|'[^']*('|$)|[^>"'])*>?/) {
            self.tag(found)
            return Self.rest(text, found)
        }
        return self.character(text)
    }

    /// A tag, with the repairs in its values.
    private mutating func tag(_ tag: String) {
        var rest = Substring(tag)
        while !rest.isEmpty {
            let before = Self.match(rest, /[^"']+/) ?? ""
            self.output += before
            rest = Self.rest(rest, before)
            guard let value = Self.match(rest, /"[^"]*("|$)|'[^']*('|$)/) else { continue }
            rest = Self.rest(rest, value)
            var inner = Substring(value)
            while !inner.isEmpty { inner = self.character(inner) }
        }
    }

    /// Copies or repairs the next character or reference.
    private mutating func character(_ text: Substring) -> Substring {
        if text.unicodeScalars.first == "<" { return self.replace(text, "<", "&lt;", .lessThanSigns) }
        guard text.unicodeScalars.first == "&" else {
            let found = String(text.unicodeScalars.prefix(1))
            self.output += found
            return Self.rest(text, found)
        }
        let single: (inout Oracle) -> Substring = { $0.replace(text, "&", "&amp;", .ampersands) }
        if let number = Self.match(text, /&#(x[0-9A-Fa-f]+|[0-9]+)/) {
            let digits = number.dropFirst(2)
            let value = digits.first == "x" ? Int(digits.dropFirst(), radix: 16) : Int(digits)
            guard let value, let scalar = Unicode.Scalar(UInt32(clamping: value)),
                scalar.value >= 32 || "\t\n\r".unicodeScalars.contains(scalar),
                ![0xfffe, 0xffff].contains(scalar.value)
            else { return single(&self) }
            return self.finish(text, number, with: number + ";")
        }
        guard let found = Self.match(text, /&[A-Za-z0-9]+/) else { return single(&self) }
        let name = String(found.dropFirst())
        let next = Self.rest(text, found).unicodeScalars.first
        if Self.xml.contains(name), next == ";" || next != "=" { return self.finish(text, found, with: found + ";") }
        guard let number = Self.html[name] else { return single(&self) }
        if next == ";" { return self.replace(text, found + ";", "&#\(number);", .entities) }
        return number > 255 || next == "=" ? single(&self) : self.replace(text, found, "&#\(number);", .semicolons)
    }

    private mutating func finish(_ text: Substring, _ found: String, with whole: String) -> Substring {
        let rest = Self.rest(text, found)
        guard rest.unicodeScalars.first == ";" else { return self.replace(text, found, whole, .semicolons) }
        self.output += whole
        return Self.rest(text, whole)
    }

    private mutating func replace(_ text: Substring, _ old: String, _ new: String, _ kind: RepairKind) -> Substring {
        self.output += new
        self.counts[kind] += 1
        return Self.rest(text, old)
    }

    /// The beginning of markup at the end of the text.
    private static func unfinished(_ text: Substring) -> String? {
        let text = String(text)
        return ["<!--", "<![CDATA[", "<!DOCTYPE"].contains { $0.hasPrefix(text) } ? text : nil
    }

    private static func match<Output>(_ text: Substring, _ regex: Regex<Output>) -> String? {
        text.prefixMatch(of: regex.matchingSemantics(.unicodeScalar)).map { String(text[$0.range]) }
    }

    private static func rest(_ text: Substring, _ found: String) -> Substring {
        Substring(text.unicodeScalars.dropFirst(found.unicodeScalars.count))
    }
}

@Suite struct XMLRepairTests {
    @Test(arguments: [
        ("<a x='R&D'/>", "<a x='R&amp;D'/>"), ("<a>a & b</a>", "<a>a &amp; b</a>"),
        ("<a x='?a=1&b=2&copy=3'/>", "<a x='?a=1&amp;b=2&amp;copy=3'/>"),
        ("<a x='a<b'>1 < 2 <3 </a>", "<a x='a&lt;b'>1 &lt; 2 &lt;3 </a>"), ("<a><!x></a>", "<a>&lt;!x></a>"),
        ("<a x='&amp b &lt'/>", "<a x='&amp; b &lt;'/>"), ("<a x='&#233 &#xE9,'/>", "<a x='&#233; &#xE9;,'/>"),
        ("<a x='&eacute &hellip '/>", "<a x='&#233; &amp;hellip '/>"),
        ("<a x='&nbsp;&hellip;&thetasym;'/>", "<a x='&#160;&#8230;&#977;'/>"),
        (
            "<a x='&foo; &; &#; &#x; &#0; &#xD800; &#X41; &thetasyms;'/>",
            "<a x='&amp;foo; &amp;; &amp;#; &amp;#x; &amp;#0; &amp;#xD800; &amp;#X41; &amp;thetasyms;'/>"
        ),
        (" \n<?xml version='1.0'?><a/>", "<?xml version='1.0'?><a/>"),
        ("\u{feff}\r\n<?xml version='1.0'?><a/>", "\u{feff}<?xml version='1.0'?><a/>"),
        (" <?xml-stylesheet?><a/>", " <?xml-stylesheet?><a/>"),
        ("<a y=\"it's <\" x='\"&\"'>", "<a y=\"it's &lt;\" x='\"&amp;\"'>"),
        // Comments, CDATA sections and processing instructions are left alone.
        (
            "<!-- & < &nbsp; --><a><![CDATA[& < &nbsp]]><?p & <?>&</a>",
            "<!-- & < &nbsp; --><a><![CDATA[& < &nbsp]]><?p & <?>&amp;</a>"
        ),
        ("<a>&#0000000000000000000000000000000000000065;</a>", "<a>&#0000000000000000000000000000000000000065;</a>"),
    ])
    func faultsAreRepaired(_ text: String, expected: String) {
        #expect(repaired(text) == expected)
    }

    /// Text that libxml2 accepts is passed on byte for byte: the files of other programs, the fuzzing corpus, a model
    /// and what nest writes.
    @Test func wellFormedTextIsUnchanged() throws {
        var files = [Array(Samples.harbour.utf8)]
        for folder in ["Tests/Fixtures/outlines", "Tests/Fixtures/outlines/faulty", "Tests/Fixtures/Corpus/opml"] {
            let directory = Repository.root.appending(path: folder)
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path()).sorted() {
                if let data = try? Data(contentsOf: directory.appending(path: name)) { files.append([UInt8](data)) }
            }
        }
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            files.append(try writeOutline(HardOutlines.rows(&random), .opml).bytes)
        }
        var wellFormedCount = 0
        for file in files {
            let reader = XMLReader(.outline)
            do throws(FormatError) {
                try reader.read(file, isLast: true) { (_) throws(FormatError) in }
            } catch {
                continue
            }
            wellFormedCount += 1
            let (bytes, counts) = repaired(file)
            #expect(bytes == file && counts == RepairCounts(), "\(String(decoding: file, as: UTF8.self))")
        }
        #expect(wellFormedCount > 300, "\(wellFormedCount) files")
    }

    /// The repair of a text in pieces equals that of the whole text by regular expressions, wherever the text is cut,
    /// and a second repair changes nothing. To replay a failure, put its seed in the range.
    @Test func repairsInPiecesEqualThoseOfTheWholeText() {
        let pieces = [
            "<a x=\"", "<a x='", "\"", "'", ">", "/>", "</a>", "<", "<!--", "-->", "-", "<![CDATA[", "]]>", "]", "<?p",
            "?>", "?", "<!DOCTYPE", "<!", "&", "&amp", "&lt", "&apos", "&nbsp", "&copy", "&eacute", "&hellip", "&Alpha",
            "&foo", "&#", "&#x", "&#233", "&#xE9", "&#0", "&#xfffe", "&#x110000", ";", "=", " ", "\n", "\r\n", "b", "7",
            "é", "😀", "\u{0}", "<?xml ", "\u{feff}", "R&D", "_", ":",
        ].map { Array($0.utf8) }
        for seed in 0..<1_500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var bytes: [UInt8] = random.oneIn(8) ? Array("\n <?xml version='1.0'?>".utf8) : []
            for _ in 0..<random.below(25) { bytes += pieces[random.below(pieces.count)] }
            if random.oneIn(10) { bytes.append(0xff) }
            let oracle = Oracle(bytes)
            let cuts = (0..<random.below(12)).map { _ in random.below(bytes.count + 1) }
            for cuts in [[], cuts, Array(bytes.indices)] {
                let (output, counts) = repaired(bytes, cuts: cuts)
                let text = "seed \(seed), cut at \(cuts): \(String(decoding: bytes, as: UTF8.self))"
                guard output == oracle.bytes, counts == oracle.counts else {
                    Issue.record(
                        "\(text): \(String(decoding: output, as: UTF8.self)), not \(String(decoding: oracle.bytes, as: UTF8.self))"
                    )
                    return
                }
            }
            var again = repaired(oracle.bytes)
            // White space after a removed declaration may precede a second one.
            again.counts[.spaces] = 0
            #expect(again.counts == RepairCounts(), "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        }
    }

    /// Errors and items have the locations of the file, not those of the repaired text.
    @Test func locationsAreThoseOfTheFile() throws {
        let lines = [
            " ", "<?xml version='1.0'?><opml><body>", "<outline text='a & b & &nbsp; c'/><outline text='&' x='<'/>",
            "<outline text='&copy &amp'/><outline text='&' text='b'/></body></opml>",
        ]
        let bytes = Array(lines.joined(separator: "\n").utf8)
        for pieceBytes in [1, 2, 7, 1_000] {
            var reader = OutlineFormat.opml.reader(ReadingOptions(isLenient: true))
            var rows: [OutlineRow] = []
            let error = #expect(throws: FormatError.self) {
                for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
                    try reader.read(Array(bytes[start..<min(start + pieceBytes, bytes.count)]), into: &rows)
                }
                try reader.finish(into: &rows)
            }
            // libxml2 reports the attribute after its value, and an element after its last attribute.
            #expect(error.map { [$0.line, $0.column] } == [4, 55], "\(String(describing: error))")
            #expect(rows.map { [$0.location.line, $0.location.column] } == [[3, 33], [3, 58], [4, 27]])
        }
    }
}
