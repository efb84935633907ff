import NestModel

/// The shown rows of an outline in preorder, each with its depth, its number of children and its fold state. A sub-tree
/// is a row and the deeper rows that follow it.
///
/// A B+ tree by position, without keys. Nodes store the number of rows, the least depth and the digest; depths are
/// relative to the node, so that a sub-tree gets another depth at one node. A dictionary maps ids to leaves, and nodes
/// link to their parents, which gives the index of an id. A sub-tree moves by splitting and joining the B+ tree:
/// `cut` makes it a `Piece`, `hang` puts it elsewhere.
///
/// Every operation takes O(log n) for n rows, at any depth; those that create, forget or visit m rows O(m + log n). A
/// row takes about 70 bytes. (Bayer and McCreight, 1972; counts in nodes, split and join: Cormen et al., "Augmenting
/// data structures". Relatives are GTK's `gtktreelistmodel` and VS Code's `indexTreeModel`, which nest one structure
/// for each level, and so take time for each level.)
///
/// One thread may use a tree at a time. A wrong index, an id inserted twice and a piece used twice are errors of the
/// caller and trap.
package final class FlatTree {
    package struct Entry: Hashable {
        package var id: ObjectID
        package var depth: Int
        package var childCount: Int
        package var isExpanded: Bool

        package init(id: ObjectID, depth: Int, childCount: Int, isExpanded: Bool) {
            self.id = id
            self.depth = depth
            self.childCount = childCount
            self.isExpanded = isExpanded
        }
    }

    /// Rows cut from a tree. The tree still knows their ids; the owner hangs or discards each piece once.
    package final class Piece {
        let root: FlatNode
        unowned let tree: FlatTree
        var isUsed = false

        init(_ root: FlatNode, of tree: FlatTree) {
            self.root = root
            self.tree = tree
        }

        package var count: Int { self.root.count }

        /// Identifies the piece until it is used: see `FlatTree.part(of:)`.
        package var part: ObjectIdentifier { ObjectIdentifier(self.root) }

        /// O(log n).
        package func contains(_ id: ObjectID) -> Bool {
            !self.isUsed && self.tree.leaves[id].map { self.tree.root(above: $0) === self.root } ?? false
        }
    }

    var root: FlatNode
    /// The leaf of each row, in the tree and in pieces.
    var leaves: [ObjectID: FlatNode]
    /// The number of rows in pieces.
    var cutCount = 0
    /// How many nodes the operations have used. For tests of costs; only debug builds count.
    package var visits = 0

    package init() {
        self.root = FlatNode(rows: [], depth: 0)
        self.leaves = [:]
    }

    /// Makes the tree of rows in preorder. O(n).
    package convenience init(_ entries: some Collection<Entry>) {
        self.init()
        self.leaves.reserveCapacity(entries.count)
        if let built = self.build(entries) { self.root = built }
    }

    package var count: Int { self.root.count }

    /// The number of levels of nodes above the leaves.
    package var height: Int { self.root.height }

    /// The estimated memory in bytes, with that of the pieces.
    package var byteCount: Int {
        // A dictionary's slot has an id and a reference; three quarters of the slots are its capacity. Leaves are two
        // thirds full on average.
        let slots = self.leaves.capacity * 4 / 3
        return 17 * slots + 28 * self.leaves.count + 256
    }

    /// Counts nodes that an operation uses.
    @inline(__always)
    func visit(_ nodes: Int = 1) {
        #if DEBUG
        self.visits += nodes
        #endif
    }

    func root(above leaf: FlatNode) -> FlatNode {
        var node = leaf
        while let parent = node.parent {
            self.visit()
            node = parent
        }
        return node
    }

    /// Returns whether the tree has a row; rows of pieces are not in the tree. O(log n).
    package func contains(_ id: ObjectID) -> Bool {
        self.leaves[id].map { self.root(above: $0) === self.root } ?? false
    }

    /// Returns whether the tree or a piece has a row. O(1).
    package func knows(_ id: ObjectID) -> Bool { self.leaves[id] != nil }

    /// Returns whether the tree or a piece has any of these rows. O(the smaller number of ids).
    package func knowsAny(of ids: Set<ObjectID>) -> Bool {
        ids.count <= self.leaves.count
            ? ids.contains { self.leaves[$0] != nil } : self.leaves.keys.contains { ids.contains($0) }
    }

    /// Returns what a row is in, the tree or a piece; `nil` if the tree does not know the id. O(log n).
    package func part(of id: ObjectID) -> ObjectIdentifier? {
        self.leaves[id].map { ObjectIdentifier(self.root(above: $0)) }
    }

    /// Returns the index of a row; `nil` if it is not in the tree. O(log n).
    package func index(of id: ObjectID) -> Int? {
        guard let leaf = self.leaves[id] else { return nil }
        var index = leaf.index(of: id)
        var node = leaf
        while let parent = node.parent {
            self.visit()
            for sibling in parent.children {
                if sibling === node { break }
                index += sibling.count
            }
            node = parent
        }
        return node === self.root ? index : nil
    }

    /// Returns a row; `nil` if it is not in the tree. O(log n).
    package func entry(of id: ObjectID) -> Entry? {
        guard let leaf = self.leaves[id] else { return nil }
        var depth = leaf.depth
        var node = leaf
        while let parent = node.parent {
            self.visit()
            depth += parent.depth
            node = parent
        }
        return node === self.root ? leaf.rows[leaf.index(of: id)].entry(leastDepth: depth) : nil
    }

    /// Returns the row at an index. Precondition: 0 ..< count. O(log n).
    package func entry(at index: Int) -> Entry {
        let place = self.place(ofRowAt: index)
        return place.leaf.rows[place.row].entry(leastDepth: place.depth)
    }

    /// Returns the number of children and the fold state of a row in the tree or in a piece; `nil` if the tree does not
    /// know the id. O(1).
    package func state(of id: ObjectID) -> (childCount: Int, isExpanded: Bool)? {
        guard let leaf = self.leaves[id] else { return nil }
        let row = leaf.rows[leaf.index(of: id)]
        return (row.childCount, row.isExpanded)
    }

    /// Returns the leaf of a row, the row's index in it, and the leaf's least depth.
    func place(ofRowAt index: Int) -> (leaf: FlatNode, row: Int, depth: Int) {
        precondition(index >= 0 && index < self.count, "index \(index) of \(self.count) rows")
        var node = self.root
        var index = index
        var depth = node.depth
        while !node.isLeaf {
            self.visit()
            var child = 0
            while index >= node.children[child].count {
                index -= node.children[child].count
                child += 1
            }
            node = node.children[child]
            depth += node.depth
        }
        return (node, index, depth)
    }
}
