import NestModel

/// One item of an outline: what every format reads and writes, in preorder.
package struct OutlineRow: Hashable, Sendable {
    /// 0 for the top; at most one more than the row before.
    package var depth: Int
    /// Its id on the server that it comes from; `nil` in what was read from a file.
    package var id: ObjectID?
    package var title: String
    package var note: String?
    package var done: Bool
    /// The text of a JSON object: what a file says of the item beyond the above.
    package var extra: String?
    /// What it has beyond these, by the names of `OutlineFields`.
    package var attributes: [OutlineAttribute] = []
    /// Where it stands in the file that it was read from; no part of what the row is.
    package private(set) var position = TextPosition()

    package init(
        depth: Int,
        id: ObjectID? = nil,
        title: String,
        note: String? = nil,
        done: Bool = false,
        extra: String? = nil
    ) {
        self.depth = depth
        self.id = id
        self.title = title
        self.note = note
        self.done = done
        self.extra = extra
    }

    /// Texts are equal when their bytes are.
    package static func == (a: OutlineRow, b: OutlineRow) -> Bool {
        a.depth == b.depth && a.id == b.id && a.done == b.done && Self.equal(a.title, b.title)
            && Self.equal(a.note, b.note) && Self.equal(a.extra, b.extra) && a.attributes == b.attributes
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.depth)
        hasher.combine(self.title)
    }

    private static func equal(_ a: String?, _ b: String?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return a.utf8.elementsEqual(b.utf8)
    }

    /// Throws when no server could hold the row; `line` and `column` say where it is from, which it remembers.
    mutating func check(line: Int, column: Int) throws(FormatError) {
        self.position = TextPosition(line: line, column: column)
        guard self.depth <= Limits.depthMax else {
            throw FormatError(line: line, column: column, "more than \(Limits.depthMax) levels")
        }
        for (name, text) in [("title", self.title), ("note", self.note), ("extra", self.extra)] {
            guard let text else { continue }
            if text.utf8.count > Limits.valueBytesMax {
                throw FormatError(line: line, column: column, "a \(name) of more than \(Limits.valueBytesMax) bytes")
            }
            if text.utf8.contains(0) {
                throw FormatError(line: line, column: column, "a NUL character in a \(name)")
            }
        }
    }
}
