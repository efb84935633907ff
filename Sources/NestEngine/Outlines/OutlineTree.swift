import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// The rows of an outline, and the row that its window is around. Keeps the anchor's position while rows come and go,
/// so that a window whose anchor leaves continues around the row that takes its position.
struct OutlineTree {
    private(set) var tree = FlatTree()
    /// The object that the window follows; `nil`: none.
    private(set) var anchor: ObjectID?
    /// The position of the anchor, also after it has left; kept during an update.
    private var gap: Int?

    var count: Int { self.tree.count }

    /// Replaces all rows. The anchor stays if it is a row.
    mutating func reset(_ rows: [FlatTree.Entry]) {
        let position = self.anchor.flatMap { self.tree.index(of: $0) }
        self.tree = FlatTree(rows)
        self.gap = position
        if self.anchor != nil { self.follow() }
    }

    /// Takes the rows of another tree. The anchor stays if it is a row there; else the row in its position follows:
    /// the one behind the nearest row before it that is left, as if the rows between were cut.
    mutating func replace(with other: OutlineTree) {
        var position = self.gap
        if position != nil {
            // An update has not come to its end.
            for left in self.lefts {
                guard let index = other.tree.index(of: left) else { continue }
                position = index + 1
                break
            }
        } else if let anchor, !other.tree.contains(anchor), let index = self.tree.index(of: anchor) {
            position = index
            for index in stride(from: index - 1, through: max(0, index - Self.walkedMax), by: -1) {
                guard let left = other.tree.index(of: self.tree.entry(at: index).id) else { continue }
                position = left + 1
                break
            }
        }
        self.tree = other.tree
        self.gap = position
        self.follow()
    }

    /// The rows before a lost anchor that are looked up in the new rows.
    private static let walkedMax = 4_096

    /// Follows another object, which is a row; `nil`: none.
    mutating func setAnchor(_ id: ObjectID?) { self.anchor = id }

    /// Begins an update: remembers the position of the anchor.
    mutating func begin() {
        self.gap = self.anchor.flatMap { self.tree.index(of: $0) }
        self.lefts = []
        guard let gap, gap > 0 else { return }
        self.tree.forEach(in: max(0, gap - Self.leftsMax)..<gap) { self.lefts.append($0.id) }
        self.lefts.reverse()
    }

    /// The rows to the left of the anchor, nearest first, when an update began.
    private var lefts: [ObjectID] = []
    private static let leftsMax = 8

    /// Ends an update: if the anchor is no row any more, the row in its position becomes the anchor.
    mutating func follow() {
        defer { self.gap = nil }
        if let anchor, self.tree.contains(anchor) { return }
        self.anchor = self.tree.count == 0 ? nil : self.tree.entry(at: min(self.gap ?? 0, self.tree.count - 1)).id
    }

    mutating func insert(_ rows: [FlatTree.Entry], at index: Int) {
        self.tree.insert(rows, at: index)
        if let gap, index < gap { self.gap = gap + rows.count }
    }

    mutating func cut(_ range: Range<Int>) -> FlatTree.Piece {
        if let gap, range.lowerBound <= gap { self.gap = max(range.lowerBound, gap - range.count) }
        return self.tree.cut(range)
    }

    mutating func hang(_ piece: FlatTree.Piece, at index: Int, depth: Int) {
        if let gap, index < gap { self.gap = gap + piece.count }
        self.tree.hang(piece, at: index, depth: depth)
    }

    /// Removes all rows below a row.
    mutating func fold(_ id: ObjectID) {
        guard let index = self.tree.index(of: id) else { return }
        self.tree.setExpanded(false, of: id)
        let end = self.tree.end(ofSubtreeAt: index)
        if end > index + 1 { self.tree.discard(self.cut(index + 1..<end)) }
    }

    /// Adds rows below a row.
    mutating func unfold(_ id: ObjectID, _ rows: [FlatTree.Entry], childCount: Int) {
        guard let index = self.tree.index(of: id) else { return }
        self.tree.setExpanded(true, of: id)
        self.tree.setChildCount(childCount, of: id)
        self.insert(rows, at: index + 1)
    }
}
