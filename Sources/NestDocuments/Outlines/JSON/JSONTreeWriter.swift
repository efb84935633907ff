/// Writes an array of items, each with its `children` in it. The depth is not limited; other programs may limit the
/// depth that they read.
package struct JSONTreeWriter: OutlineWriter {
    private let fields: OutlineFields
    private var bytes: [UInt8] = []
    /// The depth of the last row, whose object is still open; -1 before the first.
    private var previousDepth = -1
    private var hasBegun = false

    package init(_ fields: OutlineFields = OutlineFields()) {
        self.fields = fields
    }

    package var byteCount: Int { self.bytes.count }
    package var warnings: [String] { [] }

    package mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.previousDepth + 1, "a row is at most one level below the last")
        if !self.hasBegun {
            self.raw("[\n")
        } else if row.depth > self.previousDepth {
            self.raw(",\"children\":[\n")
        } else {
            self.close(to: row.depth)
            self.raw(",\n")
        }
        self.hasBegun = true
        self.previousDepth = row.depth
        // Its closing brace follows its children.
        self.bytes += JSONWriter.object { $0.item(row, self.fields) }.bytes.dropLast()
    }

    package mutating func finish() throws(FormatError) {
        if self.hasBegun { self.close(to: 0) } else { self.raw("[") }
        self.raw("\n]\n")
    }

    package mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }

    /// Closes the last row's object, and the open objects down to the depth of the next row.
    private mutating func close(to depth: Int) {
        self.raw("}")
        for _ in depth..<self.previousDepth { self.raw("]}") }
    }

    private mutating func raw(_ text: String) { self.bytes.append(contentsOf: text.utf8) }
}
