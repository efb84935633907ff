import NestModel

/// A row in a leaf of a flat tree. 16 bytes.
struct FlatRow {
    let id: ObjectID
    /// Relative to the least depth in the leaf.
    var depth: Int32
    /// The number of children n of an unfolded row, -1 - n of a folded one.
    var children: Int32

    init(_ entry: FlatTree.Entry) {
        self.id = entry.id
        self.depth = Int32(entry.depth)
        self.children = Int32(entry.isExpanded ? entry.childCount : -1 - entry.childCount)
    }

    var childCount: Int { Int(self.isExpanded ? self.children : -1 - self.children) }
    var isExpanded: Bool { self.children >= 0 }

    /// `depth`: the least depth in the leaf, counted from the root's.
    func entry(leastDepth: Int) -> FlatTree.Entry {
        FlatTree.Entry(
            id: self.id,
            depth: leastDepth + Int(self.depth),
            childCount: self.childCount,
            isExpanded: self.isExpanded
        )
    }
}

/// A node of a flat tree or of a piece cut from it. Each node but a root has between `sizeMin` and `sizeMax` rows or
/// children; a root that is no leaf has at least two children.
final class FlatNode {
    static let rowsMax = 64
    static let rowsMin = 16
    static let childrenMax = 32
    static let childrenMin = 8

    /// 0: a leaf.
    let height: Int
    var rows: [FlatRow]
    var children: [FlatNode]
    private(set) var count: Int
    /// The least depth of the rows, relative to the parent's least depth; in a root, the depth itself. The least of
    /// all children's (of all rows' in a leaf) is 0. So these numbers are never above the depths, and adding to this
    /// one moves all rows of the node.
    var depth: Int
    private(set) var digest: ResultsDigest
    /// A parent owns its children and outlives them, or they get another parent.
    unowned var parent: FlatNode?

    /// `depth`: what the rows' depths are relative to.
    init(rows: [FlatRow], depth: Int) {
        self.height = 0
        self.rows = rows
        self.children = []
        self.count = rows.count
        self.depth = depth
        self.digest = .empty
        self.summarize()
    }

    /// `depth`: what the children's depths are relative to.
    init(children: [FlatNode], depth: Int) {
        self.height = children[0].height + 1
        self.rows = []
        self.children = children
        self.count = 0
        self.depth = depth
        self.digest = .empty
        for child in children { child.parent = self }
        self.summarize()
    }

    var isLeaf: Bool { self.height == 0 }
    var size: Int { self.isLeaf ? self.rows.count : self.children.count }
    var sizeMax: Int { self.isLeaf ? Self.rowsMax : Self.childrenMax }
    var sizeMin: Int { self.isLeaf ? Self.rowsMin : Self.childrenMin }

    private static let sectionHash = ResultsDigest.sectionHash(LiveResult.wholeSection)

    static func digest(of rows: some Sequence<FlatRow>) -> ResultsDigest {
        let hash = Self.sectionHash
        var digest = ResultsDigest.empty
        for row in rows { digest.append(sectionHash: hash, object: row.id) }
        return digest
    }

    /// Computes count, least depth and digest from the rows or the children.
    func summarize() {
        if self.isLeaf {
            self.count = self.rows.count
            self.digest = Self.digest(of: self.rows)
            guard let least = self.rows.lazy.map(\.depth).min() else {
                self.depth = 0
                return
            }
            guard least != 0 else { return }
            for index in self.rows.indices { self.rows[index].depth -= least }
            self.depth += Int(least)
            return
        }
        var count = 0
        var least = Int.max
        var digest = ResultsDigest.empty
        for child in self.children {
            count += child.count
            least = min(least, child.depth)
            digest = digest.combined(with: child.digest)
        }
        self.count = count
        self.digest = digest
        guard least != 0 else { return }
        for child in self.children { child.depth -= least }
        self.depth += least
    }

    func index(of child: FlatNode) -> Int { self.children.firstIndex { $0 === child }! }

    func index(of id: ObjectID) -> Int { self.rows.firstIndex { $0.id == id }! }

    /// Inserts rows whose depths are relative to those of this leaf. The capacity is that of a full leaf, because
    /// doubling would reserve more.
    func insert(_ rows: some Collection<FlatRow>, at index: Int) {
        if self.rows.count + rows.count > self.rows.capacity { self.rows.reserveCapacity(Self.rowsMax) }
        self.rows.insert(contentsOf: rows, at: index)
    }
}
