import NestModel

/// Split and join of B+ trees. All roots here have depths that are not relative, and `nil` is a tree without rows.
extension FlatTree {
    /// Makes a root of new rows in preorder: nodes of equal sizes, at most three quarters full, so that the next
    /// insertions split none.
    func build(_ entries: some Collection<Entry>) -> FlatNode? {
        var level: [FlatNode] = []
        let sizes = Self.sizes(entries.count, atMost: FlatNode.rowsMax * 3 / 4)
        level.reserveCapacity(sizes.count)
        var rest = entries[...]
        for size in sizes {
            let leaf = FlatNode(rows: rest.prefix(size).map(FlatRow.init), depth: 0)
            rest = rest.dropFirst(size)
            for row in leaf.rows {
                let old = self.leaves.updateValue(leaf, forKey: row.id)
                precondition(old == nil, "object \(row.id) inserted twice")
            }
            level.append(leaf)
        }
        while level.count > 1 {
            var start = 0
            level = Self.sizes(level.count, atMost: FlatNode.childrenMax * 3 / 4).map { size in
                start += size
                return FlatNode(children: Array(level[start - size..<start]), depth: 0)
            }
        }
        return level.first
    }

    /// Returns the sizes of as few parts as possible, whose sizes differ by at most one.
    private static func sizes(_ count: Int, atMost sizeMax: Int) -> [Int] {
        let parts = (count + sizeMax - 1) / sizeMax
        return (0..<parts).map { ($0 + 1) * count / parts - $0 * count / parts }
    }

    /// Splits a tree before the row at an index. O(log n), because each join takes as long as its heights differ.
    func split(_ root: FlatNode, at index: Int) -> (FlatNode?, FlatNode?) {
        var path: [(node: FlatNode, child: Int, depth: Int)] = []
        var node = root
        var index = index
        var depth = root.depth
        while !node.isLeaf {
            var child = 0
            while index > node.children[child].count {
                index -= node.children[child].count
                child += 1
            }
            path.append((node, child, depth))
            node = node.children[child]
            depth += node.depth
        }
        var (left, right) = self.split(leaf: node, at: index, depth: depth)
        for (node, child, depth) in path.reversed() {
            self.visit()
            left = self.join(Self.root(of: node.children[..<child], depth: depth), left)
            right = self.join(right, Self.root(of: node.children[(child + 1)...], depth: depth))
        }
        return (left, right)
    }

    /// The larger part keeps the leaf, so that fewer rows get another one.
    private func split(leaf: FlatNode, at index: Int, depth: Int) -> (FlatNode?, FlatNode?) {
        leaf.parent = nil
        leaf.depth = depth
        if index == 0 { return (nil, leaf.count == 0 ? nil : leaf) }
        if index == leaf.count { return (leaf, nil) }
        let keepsLeft = index > leaf.count / 2
        let moved = keepsLeft ? index..<leaf.count : 0..<index
        let other = FlatNode(rows: Array(leaf.rows[moved]), depth: depth)
        for row in other.rows { self.leaves[row.id] = other }
        leaf.rows.removeSubrange(moved)
        leaf.summarize()
        return keepsLeft ? (leaf, other) : (other, leaf)
    }

    private static func root(of children: ArraySlice<FlatNode>, depth: Int) -> FlatNode? {
        guard let child = children.first else { return nil }
        guard children.count == 1 else { return FlatNode(children: Array(children), depth: depth) }
        child.parent = nil
        child.depth += depth
        return child
    }

    /// Joins two trees. O(the difference of their heights).
    func join(_ left: FlatNode?, _ right: FlatNode?) -> FlatNode? {
        guard let left, let right else { return left ?? right }
        guard left.height != right.height else {
            let root = FlatNode(children: [left, right], depth: 0)
            self.balance(root, at: 0)
            root.summarize()
            return root.children.count > 1 ? root : Self.root(of: root.children[...], depth: root.depth)
        }
        // The lower tree becomes the last or first child of a node of the higher one.
        let isLeftHigher = left.height > right.height
        let (higher, lower) = isLeftHigher ? (left, right) : (right, left)
        var node = higher
        lower.depth -= node.depth
        while node.height > lower.height + 1 {
            self.visit()
            node = isLeftHigher ? node.children.last! : node.children[0]
            lower.depth -= node.depth
        }
        lower.parent = node
        node.children.insert(lower, at: isLeftHigher ? node.children.count : 0)
        self.balance(node, at: isLeftHigher ? node.children.count - 2 : 0)
        return self.splitIfFull(from: node)
    }

    /// Splits a node that has one child too many, and those above it that get one too many by this. Summarizes all
    /// nodes from here to the root, and returns the root.
    private func splitIfFull(from node: FlatNode) -> FlatNode {
        var node = node
        while true {
            self.visit()
            var right: FlatNode?
            if node.children.count > FlatNode.childrenMax {
                let middle = node.children.count / 2
                right = FlatNode(children: Array(node.children[middle...]), depth: node.depth)
                node.children.removeSubrange(middle...)
            }
            node.summarize()
            guard let parent = node.parent else {
                return right.map { FlatNode(children: [node, $0], depth: 0) } ?? node
            }
            if let right {
                right.parent = parent
                parent.children.insert(right, at: parent.index(of: node) + 1)
            }
            node = parent
        }
    }

    /// Merges a child with the next one if one of both is too small, or evens out their sizes. Does not summarize the
    /// node.
    private func balance(_ node: FlatNode, at index: Int) {
        let left = node.children[index]
        let right = node.children[index + 1]
        guard left.size < left.sizeMin || right.size < right.sizeMin else { return }
        self.visit(2)
        let size = left.size + right.size
        if size <= left.sizeMax {
            // Fewer rows get another leaf if the larger one stays.
            let staysLeft = left.size >= right.size
            self.move(staysLeft ? right.size : -left.size, to: left, from: right)
            node.children.remove(at: staysLeft ? index + 1 : index)
            (staysLeft ? left : right).summarize()
        } else {
            self.move(size / 2 - left.size, to: left, from: right)
            left.summarize()
            right.summarize()
        }
    }

    /// Moves the first rows or children of a node to the end of its left neighbour; with a negative number, the last
    /// ones of the neighbour to the node's start.
    private func move(_ number: Int, to left: FlatNode, from right: FlatNode) {
        let (from, to) = number > 0 ? (right, left) : (left, right)
        let moved = number > 0 ? 0..<number : from.size + number..<from.size
        let place = number > 0 ? to.size : 0
        let depth = from.depth - to.depth
        if from.isLeaf {
            var rows = Array(from.rows[moved])
            for index in rows.indices {
                rows[index].depth += Int32(depth)
                self.leaves[rows[index].id] = to
            }
            to.insert(rows, at: place)
            from.rows.removeSubrange(moved)
        } else {
            let children = Array(from.children[moved])
            for child in children {
                child.depth += depth
                child.parent = to
            }
            to.children.insert(contentsOf: children, at: place)
            from.children.removeSubrange(moved)
        }
    }
}
