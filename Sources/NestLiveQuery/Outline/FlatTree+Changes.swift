import NestModel

extension FlatTree {
    /// Inserts rows before the row at an index. O(m + log n) for m rows.
    package func insert(_ entries: [Entry], at index: Int) {
        if entries.count <= FlatNode.rowsMax {
            let rows = entries.map(FlatRow.init)
            if self.insert(rows, depth: 0, at: index, areNew: true) { return }
        }
        self.join(self.build(entries), at: index)
    }

    /// Sets the number of children of a row in the tree or in a piece; ignores ids that the tree does not know. O(1).
    package func setChildCount(_ childCount: Int, of id: ObjectID) {
        guard let leaf = self.leaves[id] else { return }
        let index = leaf.index(of: id)
        leaf.rows[index].children = Int32(leaf.rows[index].isExpanded ? childCount : -1 - childCount)
    }

    /// Sets the fold state of a row in the tree or in a piece; ignores ids that the tree does not know. Its sub-tree
    /// stays: the caller cuts or inserts. O(1).
    package func setExpanded(_ isExpanded: Bool, of id: ObjectID) {
        guard let leaf = self.leaves[id] else { return }
        let index = leaf.index(of: id)
        if leaf.rows[index].isExpanded != isExpanded { leaf.rows[index].children = -1 - leaf.rows[index].children }
    }

    /// Takes rows out of the tree. It still knows their ids. O(log n).
    package func cut(_ range: Range<Int>) -> Piece {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "rows \(range) of \(self.count)")
        self.cutCount += range.count
        if let rows = self.cutFromLeaf(range) { return Piece(rows, of: self) }
        let (before, rest) = self.split(self.root, at: range.lowerBound)
        let (cut, after) = rest.map { self.split($0, at: range.count) } ?? (nil, nil)
        self.root = self.join(before, after) ?? FlatNode(rows: [], depth: 0)
        return Piece(cut ?? FlatNode(rows: [], depth: 0), of: self)
    }

    /// Cuts rows of one leaf that stays large enough; otherwise returns `nil`.
    private func cutFromLeaf(_ range: Range<Int>) -> FlatNode? {
        guard !range.isEmpty else { return nil }
        let (leaf, row, depth) = self.place(ofRowAt: range.lowerBound)
        let rest = leaf.count - range.count
        guard row + range.count <= leaf.count, rest >= FlatNode.rowsMin || leaf === self.root else { return nil }
        let cut = FlatNode(rows: Array(leaf.rows[row..<row + range.count]), depth: depth)
        for row in cut.rows { self.leaves[row.id] = cut }
        leaf.rows.removeSubrange(row..<row + range.count)
        self.summarize(from: leaf)
        return cut
    }

    /// Puts the rows of a piece before the row at an index. The depth of its first row becomes `depth`; the depths of
    /// the others change by the same number. O(log n).
    package func hang(_ piece: Piece, at index: Int, depth: Int) {
        self.use(piece)
        let root = piece.root
        guard root.count > 0 else { return }
        root.depth += depth - Self.firstDepth(of: root)
        precondition(root.depth >= 0, "a depth below 0")
        if root.isLeaf, self.insert(root.rows, depth: root.depth, at: index, areNew: false) { return }
        self.join(root, at: index)
    }

    /// Forgets the rows of a piece. O(m) for m rows.
    package func discard(_ piece: Piece) {
        self.use(piece)
        self.forget(piece.root)
        // A dictionary does not shrink by itself.
        if self.leaves.capacity > 1_024, self.leaves.count < self.leaves.capacity / 8 {
            self.leaves = Dictionary(uniqueKeysWithValues: self.leaves.map { ($0.key, $0.value) })
        }
    }

    private func use(_ piece: Piece) {
        precondition(piece.tree === self && !piece.isUsed, "a piece of another tree, or one used before")
        piece.isUsed = true
        self.cutCount -= piece.count
    }

    private func forget(_ node: FlatNode) {
        self.visit()
        for row in node.rows { self.leaves[row.id] = nil }
        for child in node.children { self.forget(child) }
    }

    /// Inserts rows into the leaf at an index, if it has room. `depth`: what the rows' depths are relative to.
    private func insert(_ rows: [FlatRow], depth: Int, at index: Int, areNew: Bool) -> Bool {
        precondition(index >= 0 && index <= self.count, "index \(index) of \(self.count) rows")
        var node = self.root
        var index = index
        // Relative to the node's least depth.
        var depth = depth - node.depth
        while !node.isLeaf {
            self.visit()
            var child = 0
            while index > node.children[child].count {
                index -= node.children[child].count
                child += 1
            }
            node = node.children[child]
            depth -= node.depth
        }
        guard node.count + rows.count <= FlatNode.rowsMax else { return false }
        for row in rows {
            let old = self.leaves.updateValue(node, forKey: row.id)
            precondition(!areNew || old == nil, "object \(row.id) inserted twice")
        }
        var rows = rows
        for row in rows.indices { rows[row].depth += Int32(depth) }
        node.insert(rows, at: index)
        self.summarize(from: node)
        return true
    }

    /// Joins a root to the tree, before the row at an index.
    private func join(_ rows: FlatNode?, at index: Int) {
        precondition(index >= 0 && index <= self.count, "index \(index) of \(self.count) rows")
        guard let rows else { return }
        let (before, after) = self.split(self.root, at: index)
        self.root = self.join(self.join(before, rows), after)!
    }

    /// Summarizes a changed leaf and all nodes above it.
    private func summarize(from leaf: FlatNode) {
        var next: FlatNode? = leaf
        while let node = next {
            self.visit()
            node.summarize()
            next = node.parent
        }
    }
}
