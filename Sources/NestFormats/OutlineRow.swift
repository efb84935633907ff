/// One line of an outline: what every format reads and writes.
package struct OutlineRow: Hashable, Sendable {
    /// 0 for the top; at most one more than the row before.
    package var depth: Int
    package var title: String

    package init(depth: Int, title: String) {
        self.depth = depth
        self.title = title
    }

    /// Titles are equal when their bytes are.
    package static func == (a: OutlineRow, b: OutlineRow) -> Bool {
        a.depth == b.depth && a.title.utf8.elementsEqual(b.title.utf8)
    }
}
