import NestModel

/// Writes OPML 2.0: one `outline` element for each row, with the attributes of `OPMLAttributes`.
package struct OPMLWriter: OutlineWriter {
    /// Deeper elements have the same indentation; otherwise the size of a file would grow with the square of its depth.
    private static let indentationMax = 32
    /// The title of a document without another one.
    static let untitled = "nest"

    private let title: String
    private var bytes: [UInt8] = []
    private var losses = LossCounts()
    /// The depth of the last row, whose tag is still open; -1 before the first.
    private var previousDepth = -1
    private var hasBegun = false

    package init(title: String = "") {
        self.title = title.isEmpty ? Self.untitled : title
    }

    package var byteCount: Int { self.bytes.count }
    package var warnings: [String] { self.losses.warnings }

    package mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.previousDepth + 1, "a row is at most one level below the last")
        self.beginDocument()
        self.endTag(next: row.depth)
        self.line(row.depth, "<outline")
        for (name, value) in OPMLAttributes.attributes(of: row, &self.losses) {
            self.raw(" \(name)=\"")
            self.escape(value)
            self.raw("\"")
        }
        self.previousDepth = row.depth
    }

    package mutating func finish() throws(FormatError) {
        self.beginDocument()
        self.endTag(next: 0)
        self.raw("\n  </body>\n</opml>\n")
    }

    package mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }

    private mutating func beginDocument() {
        guard !self.hasBegun else { return }
        self.hasBegun = true
        self.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n  <head>\n    <title>")
        self.escape(self.title)
        self.raw("</title>\n  </head>\n  <body>")
    }

    /// Ends the tag of the last row, and the elements that do not contain a row of the depth `next`.
    private mutating func endTag(next: Int) {
        guard self.previousDepth >= 0 else { return }
        guard next <= self.previousDepth else { return self.raw(">") }
        self.raw("/>")
        var depth = self.previousDepth - 1
        while depth >= next {
            self.line(depth, "</outline>")
            depth -= 1
        }
    }

    private mutating func line(_ depth: Int, _ text: String) {
        self.bytes.append(UInt8(ascii: "\n"))
        self.bytes += [UInt8](repeating: UInt8(ascii: " "), count: 4 + 2 * min(depth, Self.indentationMax))
        self.raw(text)
    }

    private mutating func escape(_ text: String) {
        let replaced = XMLText.append(attribute: text, to: &self.bytes)
        self.losses.add("characters replaced (XML cannot hold them)", count: replaced)
    }

    private mutating func raw(_ text: String) { self.bytes.append(contentsOf: text.utf8) }
}
