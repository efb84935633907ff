import NestModel

/// One item of an outline. Every format reads and writes rows in preorder.
package struct OutlineRow: Hashable, Sendable {
    /// 0 at the top; at most one more than in the row before.
    package var depth: Int
    /// Its id on its server; `nil` for a row from a file.
    package var id: ObjectID?
    package var title: String
    package var note: String?
    package var done: Bool
    /// The text of a JSON object with all other data that a file has about the item.
    package var extra: String?
    /// Other attributes, by the names of `OutlineFields`.
    package var attributes: [OutlineAttribute] = []
    /// Where it begins in its file. `==` ignores it.
    package private(set) var location = TextLocation()

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

    /// Compares texts by their bytes.
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

    /// Sets the row's location, where it begins in its file. Throws if the row exceeds the limits of servers.
    mutating func check(at location: TextLocation) throws(FormatError) {
        self.location = location
        guard self.depth <= Limits.depthMax else {
            throw location.failure("more than \(Limits.depthMax) levels")
        }
        for (name, text) in [("title", self.title), ("note", self.note), ("extra", self.extra)] {
            guard let text else { continue }
            if text.utf8.count > Limits.valueBytesMax {
                throw location.failure("a \(name) of more than \(Limits.valueBytesMax) bytes")
            }
            if text.utf8.contains(0) {
                throw location.failure("a NUL character in a \(name)")
            }
        }
    }
}
