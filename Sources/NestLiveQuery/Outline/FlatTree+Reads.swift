import NestModel

extension FlatTree {
    /// Returns the index after a row's sub-tree: that of the next row which is not deeper, or `count`. O(log n).
    package func end(ofSubtreeAt index: Int) -> Int {
        let (leaf, row, _) = self.place(ofRowAt: index)
        let limit = leaf.rows[row].depth
        if let next = leaf.rows[(row + 1)...].firstIndex(where: { $0.depth <= limit }) { return index - row + next }
        // The same depth, relative to the least depth of each node above.
        var relative = Int(limit)
        var node = leaf
        var position = index - row + leaf.count
        while let parent = node.parent {
            self.visit()
            relative += node.depth
            for sibling in parent.children[(parent.index(of: node) + 1)...] {
                if sibling.depth <= relative {
                    return position + self.firstRow(in: sibling, atMost: relative - sibling.depth)
                }
                position += sibling.count
            }
            node = parent
        }
        return position
    }

    /// Returns the index of the first row of a node whose depth is at most `limit`. Such a row exists, and the limit is
    /// relative to the node's least depth.
    private func firstRow(in node: FlatNode, atMost limit: Int) -> Int {
        var node = node
        var limit = limit
        var position = 0
        while !node.isLeaf {
            self.visit()
            var child = 0
            while node.children[child].depth > limit {
                position += node.children[child].count
                child += 1
            }
            node = node.children[child]
            limit -= node.depth
        }
        return position + node.rows.firstIndex { Int($0.depth) <= limit }!
    }

    /// Returns the index of a row's parent: the last row before it that is less deep. `nil` if there is none, as for
    /// each row of depth 0. O(log n).
    package func parentIndex(ofRowAt index: Int) -> Int? {
        let (leaf, row, _) = self.place(ofRowAt: index)
        return self.lastRow(in: leaf, before: row, at: index - row, below: Int(leaf.rows[row].depth))
    }

    /// Returns the index of the row of a depth whose sub-tree contains the row at an index: of a row above it, or its
    /// own. Precondition: the row is at least as deep. O(log n).
    package func index(ofDepth depth: Int, above index: Int) -> Int {
        let (leaf, row, leastDepth) = self.place(ofRowAt: index)
        let limit = depth + 1 - leastDepth
        guard let found = self.lastRow(in: leaf, before: row + 1, at: index - row, below: limit) else {
            preconditionFailure("row \(index) is less deep than \(depth)")
        }
        return found
    }

    /// Returns the index of the last row whose depth is below `limit`, among the first rows of a leaf and the rows
    /// before it. `position`: the index of the leaf's first row. `limit` is relative to the leaf's least depth.
    private func lastRow(in leaf: FlatNode, before end: Int, at position: Int, below limit: Int) -> Int? {
        if let before = leaf.rows[..<end].lastIndex(where: { Int($0.depth) < limit }) { return position + before }
        var relative = limit
        var node = leaf
        var position = position
        while let parent = node.parent {
            self.visit()
            relative += node.depth
            for sibling in parent.children[..<parent.index(of: node)].reversed() {
                position -= sibling.count
                if sibling.depth < relative {
                    return position + self.lastRow(in: sibling, below: relative - sibling.depth)
                }
            }
            node = parent
        }
        return nil
    }

    /// Returns the index of the last row of a node whose depth is below `limit`. Such a row exists, and the limit is
    /// relative to the node's least depth.
    private func lastRow(in node: FlatNode, below limit: Int) -> Int {
        var node = node
        var limit = limit
        var end = node.count
        while !node.isLeaf {
            self.visit()
            var child = node.children.count - 1
            while node.children[child].depth >= limit {
                end -= node.children[child].count
                child -= 1
            }
            node = node.children[child]
            limit -= node.depth
        }
        return end - node.count + node.rows.lastIndex { Int($0.depth) < limit }!
    }

    /// Calls `body` with the rows of a range of indexes, in order. O(log n + m) for m rows.
    package func forEach(in range: Range<Int>, _ body: (Entry) throws -> Void) rethrows {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "rows \(range) of \(self.count)")
        try self.forEach(in: range, of: self.root, depth: self.root.depth, body)
    }

    /// Calls `body` with the rows of a piece, in order. The depth of the first is 0.
    package func forEach(in piece: Piece, _ body: (Entry) throws -> Void) rethrows {
        let root = piece.root
        let depth = root.depth - Self.firstDepth(of: root)
        try self.forEach(in: 0..<root.count, of: root, depth: depth, body)
    }

    /// The recursion is as deep as the B+ tree is high.
    private func forEach(
        in range: Range<Int>,
        of node: FlatNode,
        depth: Int,
        _ body: (Entry) throws -> Void
    ) rethrows {
        self.visit()
        if node.isLeaf {
            for row in node.rows[range] { try body(row.entry(leastDepth: depth)) }
            return
        }
        var start = 0
        for child in node.children {
            let part = range.clamped(to: start..<start + child.count)
            if !part.isEmpty {
                let own = part.lowerBound - start..<part.upperBound - start
                try self.forEach(in: own, of: child, depth: depth + child.depth, body)
            }
            start += child.count
            if start >= range.upperBound { return }
        }
    }

    /// Returns the digest of a range of rows, in the section "". O(log n).
    package func digest(of range: Range<Int>) -> ResultsDigest {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "rows \(range) of \(self.count)")
        return self.digest(of: range, in: self.root)
    }

    private func digest(of range: Range<Int>, in node: FlatNode) -> ResultsDigest {
        if range.isEmpty { return .empty }
        if range.count == node.count { return node.digest }
        self.visit()
        if node.isLeaf { return FlatNode.digest(of: node.rows[range]) }
        var digest = ResultsDigest.empty
        var start = 0
        for child in node.children {
            let part = range.clamped(to: start..<start + child.count)
            if !part.isEmpty {
                let own = part.lowerBound - start..<part.upperBound - start
                digest = digest.combined(with: self.digest(of: own, in: child))
            }
            start += child.count
            if start >= range.upperBound { break }
        }
        return digest
    }

    /// Returns the depth of a root's first row.
    static func firstDepth(of root: FlatNode) -> Int {
        var node = root
        var depth = node.depth
        while !node.isLeaf {
            node = node.children[0]
            depth += node.depth
        }
        return depth + Int(node.rows.first?.depth ?? 0)
    }
}
