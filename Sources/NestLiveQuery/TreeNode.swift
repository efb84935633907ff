import NestModel
import NestOrder

/// A node of the tree. Only a tree that solely owns a node changes it in place (`makeUnique` before every change).
/// The rows of shared nodes never change, which gives a tree value semantics.
///
/// A change leaves the digests and sections of its nodes stale, and `summarize` computes them when they are needed:
/// once for all changes of a batch, also in shared nodes. So all trees that share nodes are used by one thread. A node
/// that is not stale has no stale node below it.
final class TreeNode {
    static let leafMax = 64
    static let childrenMax = 32

    /// The rows of a leaf. In other nodes, the least key of each child but the first: a key belongs in the last child
    /// whose separator is not above it.
    private(set) var keys: KeyList
    var children: [TreeNode]
    private(set) var count: Int
    /// The memory of the rows' keys outside the leaves, in bytes.
    private(set) var tailByteCount: Int
    private(set) var digest: ResultsDigest
    /// `nil`: no rows, or they are in one section.
    private(set) var sections: SectionSummary?
    /// Whether `digest` and `sections` are those of earlier rows.
    private var isStale = false

    var isLeaf: Bool { self.children.isEmpty }

    init(leaf keys: KeyList, rule: SectionRule) {
        self.keys = keys
        self.children = []
        self.count = keys.count
        self.tailByteCount = keys.tailByteCount
        (self.digest, self.sections) = rule.summary(of: keys)
    }

    init(children: [TreeNode], rule: SectionRule) {
        self.keys = KeyList(children.dropFirst().map(\.leastKey))
        self.children = children
        self.count = 0
        self.tailByteCount = 0
        self.digest = .empty
        self.isStale = true
        self.countChildren()
        self.summarize(rule)
    }

    init(copying other: TreeNode) {
        self.keys = other.keys
        self.children = other.children
        self.count = other.count
        self.tailByteCount = other.tailByteCount
        self.digest = other.digest
        self.sections = other.sections
        self.isStale = other.isStale
    }

    private var leastKey: RowKey {
        var node = self
        while !node.isLeaf { node = node.children[0] }
        return node.keys[0]
    }

    /// Computes the digests and sections of this node and of those below it that are stale.
    func summarize(_ rule: SectionRule) {
        guard self.isStale else { return }
        self.isStale = false
        guard !self.isLeaf else {
            (self.digest, self.sections) = rule.summary(of: self.keys)
            return
        }
        guard rule.hasDigests else {
            for child in self.children { child.summarize(rule) }
            return
        }
        var digest = ResultsDigest.empty
        var sections: SectionSummary?
        for child in self.children {
            child.summarize(rule)
            digest = digest.combined(with: child.digest)
            sections = SectionSummary.joined(sections, child.sections)
        }
        self.digest = digest
        self.sections = sections
    }

    private func countChildren() {
        var count = 0
        var tailByteCount = 0
        for child in self.children {
            count += child.count
            tailByteCount += child.tailByteCount
        }
        (self.count, self.tailByteCount) = (count, tailByteCount)
    }

    private func recountLeaf() { (self.count, self.tailByteCount) = (self.keys.count, self.keys.tailByteCount) }

    func childIndex(for key: RowKey) -> Int { self.keys.upperBound(key) }

    /// Inserts a key. Precondition: one tree solely owns this node. Returns the right half if the node was split.
    func insert(_ key: RowKey, _ rule: SectionRule) -> (isNew: Bool, split: TreeNode?) {
        if self.isLeaf {
            let index = self.keys.lowerBound(key)
            if self.keys.holds(key, at: index) { return (false, nil) }
            self.keys.insert(key, at: index, capacity: Self.leafMax + 1)
            self.noteRow(key, difference: 1)
            guard self.count > Self.leafMax else { return (true, nil) }
            // A split after appending leaves the left node nearly full, so that a list that grows at its end fills its
            // leaves.
            let middle = index == self.keys.count - 1 ? self.keys.count * 7 / 8 : self.keys.count / 2
            let right = TreeNode(leaf: self.keys.split(at: middle), rule: rule)
            self.recountLeaf()
            return (true, right)
        }
        let index = self.childIndex(for: key)
        OrderStatisticTree.makeUnique(&self.children[index])
        let (isNew, split) = self.children[index].insert(key, rule)
        if let split {
            self.children.insert(split, at: index + 1)
            self.keys.insert(split.leastKey, at: index, capacity: Self.childrenMax)
        }
        guard self.children.count > Self.childrenMax else {
            if isNew { self.noteRow(key, difference: 1) }
            return (isNew, nil)
        }
        let middle = self.children.count / 2
        let right = TreeNode(children: Array(self.children[middle...]), rule: rule)
        self.children.removeSubrange(middle...)
        _ = self.keys.split(at: middle - 1)
        self.countChildren()
        self.isStale = true
        return (isNew, right)
    }

    /// Removes a key. Precondition: one tree solely owns this node.
    func remove(_ key: RowKey, _ rule: SectionRule) -> Bool {
        if self.isLeaf {
            let index = self.keys.lowerBound(key)
            guard self.keys.holds(key, at: index) else { return false }
            self.keys.remove(at: index)
            self.noteRow(key, difference: -1)
            return true
        }
        let index = self.childIndex(for: key)
        OrderStatisticTree.makeUnique(&self.children[index])
        guard self.children[index].remove(key, rule) else { return false }
        self.mergeSmallChild(index, rule)
        self.noteRow(key, difference: -1)
        return true
    }

    /// Counts a row that was inserted in this node or below, or removed.
    private func noteRow(_ key: RowKey, difference: Int) {
        self.count += difference
        self.tailByteCount += difference * KeyList.byteCount(of: key.sort.tail)
        self.isStale = true
    }

    /// Merges a child that became small with a neighbour, if both fit in one node.
    private func mergeSmallChild(_ index: Int, _ rule: SectionRule) {
        guard self.children.count > 1 else { return }
        let child = self.children[index]
        if child.count == 0 {
            // An empty child is removed.
            self.children.remove(at: index)
            self.keys.remove(at: max(index - 1, 0))
            return
        }
        let size = child.isLeaf ? child.keys.count : child.children.count
        let sizeMax = child.isLeaf ? Self.leafMax : Self.childrenMax
        guard size < sizeMax / 4 else { return }
        let left = index > 0 ? index - 1 : index
        let a = self.children[left]
        let b = self.children[left + 1]
        let joined = child.isLeaf ? a.keys.count + b.keys.count : a.children.count + b.children.count
        guard joined <= sizeMax * 3 / 4 else { return }
        self.children[left] =
            child.isLeaf
            ? TreeNode(leaf: a.keys.joined(with: b.keys), rule: rule)
            : TreeNode(children: a.children + b.children, rule: rule)
        self.children.remove(at: left + 1)
        self.keys.remove(at: left)
    }

    func validate(_ rule: SectionRule, isRoot: Bool) -> Int {
        let keys = (0..<self.keys.count).map { self.keys[$0] }
        precondition(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }, "keys out of order")
        if self.isLeaf {
            precondition(isRoot || !keys.isEmpty, "an empty leaf")
            precondition(
                self.hasSummary(of: TreeNode(leaf: KeyList(keys), rule: rule)),
                "a leaf's summary"
            )
            return 0
        }
        precondition(keys.count == self.children.count - 1, "separators")
        precondition(self.children.count <= Self.childrenMax, "too many children")
        let heights = Set(self.children.map { $0.validate(rule, isRoot: false) })
        precondition(heights.count == 1, "leaves at different heights")
        for (index, separator) in keys.enumerated() {
            precondition(separator <= self.children[index + 1].leastKey, "a separator above its child")
        }
        precondition(self.hasSummary(of: TreeNode(children: self.children, rule: rule)), "a node's summary")
        return heights.first! + 1
    }

    private func hasSummary(of other: TreeNode) -> Bool {
        !self.isStale && self.count == other.count && self.digest == other.digest
            && self.tailByteCount == other.tailByteCount && self.sections == other.sections
    }
}
