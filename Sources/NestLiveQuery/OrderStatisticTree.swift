import NestModel
import NestOrder

/// An ordered set of rows that knows the index of each row and the digest of all. Copies share their nodes: keeping an
/// old version costs only the nodes replaced since.
///
/// A B-tree whose nodes store counts and digests. Index of a row, row at an index, insertion, removal, digest: O(log
/// n). Loading from sorted input: O(n). A row whose key is a number takes 16 bytes in a leaf of at most 64, about 24
/// with its share of the nodes; one whose key is a short text about 80. (Bayer and McCreight, 1972; counts in nodes:
/// Cormen et al., "Augmenting data structures".)
package struct OrderStatisticTree {
    private var root: TreeNode
    private let rule: SectionRule

    /// `sectioning`: `nil` if all rows are in one section.
    package init(sectioning: Sectioning? = nil) {
        self.rule = SectionRule(sectioning, hasDigests: true)
        self.root = TreeNode(leaf: KeyList(), rule: self.rule)
    }

    /// Makes the tree of distinct keys in ascending order. O(n). `hasDigests`: false for a tree that is only an order:
    /// its digest is always that of no rows. Precondition: a tree with sections has digests.
    package init(sorted keys: [RowKey], sectioning: Sectioning? = nil, hasDigests: Bool = true) {
        let rule = SectionRule(sectioning, hasDigests: hasDigests)
        self.rule = rule
        // Fill nodes to three quarters, so that the next insertions split none.
        let fill = TreeNode.leafMax * 3 / 4
        var level = stride(from: 0, to: keys.count, by: fill).map { start in
            TreeNode(leaf: KeyList(keys[start..<min(start + fill, keys.count)]), rule: rule)
        }
        if level.isEmpty { level = [TreeNode(leaf: KeyList(), rule: rule)] }
        while level.count > 1 {
            let width = TreeNode.childrenMax * 3 / 4
            level = stride(from: 0, to: level.count, by: width).map { start in
                TreeNode(children: Array(level[start..<min(start + width, level.count)]), rule: rule)
            }
        }
        self.root = level[0]
    }

    package var count: Int { self.root.count }

    package var digest: ResultsDigest { self.summarizedRoot.digest }

    package var sectioning: Sectioning? { self.rule.sectioning }

    /// The number of sections. A result without a section key has one, with or without rows.
    package var sectionCount: Int { self.sectioning == nil ? 1 : self.summarizedRoot.sections?.count ?? 0 }

    /// The root after the digests and sections of all nodes were brought up to date.
    private var summarizedRoot: TreeNode {
        self.root.summarize(self.rule)
        return self.root
    }

    /// Returns how many keys are below this one: the index of the row, if it is in the tree.
    package func index(of key: RowKey) -> Int {
        var node = self.root
        var index = 0
        while !node.isLeaf {
            let child = node.childIndex(for: key)
            for before in 0..<child { index += node.children[before].count }
            node = node.children[child]
        }
        return index + node.keys.lowerBound(key)
    }

    package func contains(_ key: RowKey) -> Bool {
        var node = self.root
        while !node.isLeaf { node = node.children[node.childIndex(for: key)] }
        return node.keys.holds(key, at: node.keys.lowerBound(key))
    }

    /// Returns how many sections are before the one with this start. O(log n).
    package func sectionIndex(of start: SortKey) -> Int {
        guard let sectioning else { return 0 }
        let bound = RowKey(start, id: ObjectID(0))
        var node = self.summarizedRoot
        var before: SectionSummary?
        while !node.isLeaf {
            let child = node.childIndex(for: bound)
            for left in 0..<child { before = SectionSummary.joined(before, node.children[left].sections) }
            node = node.children[child]
        }
        for index in 0..<node.keys.lowerBound(bound) {
            let start = sectioning.start(of: node.keys[index].sort)
            before = SectionSummary.joined(before, SectionSummary(count: 1, first: start, last: start))
        }
        return before?.count ?? 0
    }

    /// Returns the key at an index. Precondition: 0 ..< count.
    package func key(at index: Int) -> RowKey {
        // Callers limit the ranges of requests to the existing rows (`View.range`, `successor`).
        precondition(index >= 0 && index < self.count, "index \(index) of \(self.count) rows")
        var node = self.root
        var index = index
        while !node.isLeaf {
            var child = 0
            while index >= node.children[child].count {
                index -= node.children[child].count
                child += 1
            }
            node = node.children[child]
        }
        return node.keys[index]
    }

    /// Inserts a key; returns false if it was there.
    @discardableResult
    package mutating func insert(_ key: RowKey) -> Bool {
        Self.makeUnique(&self.root)
        let (isNew, split) = self.root.insert(key, self.rule)
        if let split { self.root = TreeNode(children: [self.root, split], rule: self.rule) }
        return isNew
    }

    /// Removes a key; returns false if it was not there.
    @discardableResult
    package mutating func remove(_ key: RowKey) -> Bool {
        Self.makeUnique(&self.root)
        let wasThere = self.root.remove(key, self.rule)
        while !self.root.isLeaf, self.root.children.count == 1 { self.root = self.root.children[0] }
        return wasThere
    }

    static func makeUnique(_ node: inout TreeNode) {
        if !isKnownUniquelyReferenced(&node) { node = TreeNode(copying: node) }
    }

    /// Calls `body` with every key in order.
    package func forEach(_ body: (RowKey) throws -> Void) rethrows {
        var stack = [(node: self.root, next: 0)]
        while let (node, next) = stack.popLast() {
            if node.isLeaf {
                for index in 0..<node.keys.count { try body(node.keys[index]) }
            } else if next < node.children.count {
                stack.append((node, next + 1))
                stack.append((node.children[next], 0))
            }
        }
    }

    /// Calls `body` with the keys of a range of indexes, in order. O(log n + k) for k keys.
    package func forEach(in range: Range<Int>, _ body: (RowKey) throws -> Void) rethrows {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "rows \(range) of \(self.count)")
        var stack = [(node: self.root, skip: range.lowerBound)]
        var left = range.count
        while left > 0, let (node, skip) = stack.popLast() {
            if node.isLeaf {
                let end = min(node.keys.count, skip + left)
                for index in skip..<end { try body(node.keys[index]) }
                left -= end - skip
                continue
            }
            var skip = skip
            var next = 0
            while next < node.children.count, skip >= node.children[next].count {
                skip -= node.children[next].count
                next += 1
            }
            for later in node.children[min(next + 1, node.children.count)...].reversed() { stack.append((later, 0)) }
            if next < node.children.count { stack.append((node.children[next], skip)) }
        }
    }

    /// Returns the digest of a range of rows. O(log n).
    package func digest(of range: Range<Int>) -> ResultsDigest {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "rows \(range) of \(self.count)")
        var digest = ResultsDigest.empty
        var stack = [(node: self.summarizedRoot, first: 0)]
        while let (node, first) = stack.popLast() {
            let rows = first..<first + node.count
            if rows.isEmpty || !rows.overlaps(range) { continue }
            if range.lowerBound <= rows.lowerBound, rows.upperBound <= range.upperBound {
                digest = digest.combined(with: node.digest)
            } else if node.isLeaf {
                let part = range.clamped(to: rows)
                digest = digest.combined(
                    with: self.rule.digest(of: node.keys, part.lowerBound - first..<part.upperBound - first)
                )
            } else {
                var next = rows.upperBound
                for child in node.children.reversed() {
                    next -= child.count
                    stack.append((child, next))
                }
            }
        }
        return digest
    }

    /// The estimated memory of a tree that shares no nodes, in bytes.
    package var byteCount: Int { 24 * self.count + self.root.tailByteCount + 128 }

    /// Traps if a count, an order or a digest of a node is wrong for its rows. For tests.
    package func validate() {
        _ = self.summarizedRoot.validate(self.rule, isRoot: true)
    }
}
