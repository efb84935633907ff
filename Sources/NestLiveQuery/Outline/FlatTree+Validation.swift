import NestModel

extension FlatTree {
    /// Traps if a node's size, links or summary are wrong for its rows, or the map of ids is. O(n). For tests.
    package func validate() {
        let mapped = self.validate(self.root, isRoot: true)
        precondition(mapped == self.count && self.root.parent == nil, "the root")
        precondition(self.leaves.count == self.count + self.cutCount, "ids of no row")
    }

    package func validate(_ piece: Piece) {
        _ = self.validate(piece.root, isRoot: true)
        precondition(piece.root.parent == nil, "a piece's root")
    }

    /// Returns the number of rows.
    private func validate(_ node: FlatNode, isRoot: Bool) -> Int {
        precondition(node.size <= node.sizeMax, "a node is too large")
        precondition(node.size >= (isRoot ? (node.isLeaf ? 0 : 2) : node.sizeMin), "a node is too small")
        if node.isLeaf {
            precondition(node.children.isEmpty && node.count == node.rows.count, "a leaf's count")
            precondition(node.digest == FlatNode.digest(of: node.rows), "a leaf's digest")
            precondition(node.rows.isEmpty || node.rows.map(\.depth).min() == 0, "a leaf's least depth")
            for row in node.rows { precondition(self.leaves[row.id] === node, "the leaf of \(row.id)") }
            return node.count
        }
        precondition(node.rows.isEmpty, "rows above the leaves")
        var count = 0
        for child in node.children {
            precondition(child.parent === node && child.height == node.height - 1, "a child's links")
            count += self.validate(child, isRoot: false)
        }
        precondition(node.count == count, "a node's count")
        let digest = node.children.reduce(ResultsDigest.empty) { $0.combined(with: $1.digest) }
        precondition(node.digest == digest, "a node's digest")
        precondition(node.children.map(\.depth).min() == 0, "a node's least depth")
        return count
    }
}
