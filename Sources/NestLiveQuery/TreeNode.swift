import NestModel

/// A node of the tree. Changed in place only by the one tree that holds it alone (`makeUnique` before every change); shared
/// nodes never change, which is what makes a tree a value.
final class TreeNode {
    static let leafMax = 64
    static let childrenMax = 32

    private(set) var keys: [RowKey]
    var children: [TreeNode]
    /// The least key of each child but the first: a key goes into the last child whose separator is not above it.
    private var separators: [RowKey]
    private(set) var count: Int
    private(set) var digest: Digest

    var isLeaf: Bool { self.children.isEmpty }

    init(leaf keys: [RowKey], sectionHash: UInt64) {
        self.keys = keys
        self.children = []
        self.separators = []
        self.count = keys.count
        self.digest = .empty
        self.summarizeLeaf(sectionHash)
    }

    init(children: [TreeNode]) {
        self.keys = []
        self.children = children
        self.separators = children.dropFirst().map(\.leastKey)
        self.count = 0
        self.digest = .empty
        self.summarize()
    }

    init(copying other: TreeNode) {
        self.keys = other.keys
        self.children = other.children
        self.separators = other.separators
        self.count = other.count
        self.digest = other.digest
    }

    private var leastKey: RowKey {
        var node = self
        while !node.isLeaf { node = node.children[0] }
        return node.keys[0]
    }

    private func summarizeLeaf(_ sectionHash: UInt64) {
        self.count = self.keys.count
        var digest = Digest.empty
        for key in self.keys { digest.append(sectionHash: sectionHash, object: key.id) }
        self.digest = digest
    }

    private func summarize() {
        var count = 0
        var digest = Digest.empty
        for child in self.children {
            count += child.count
            digest = digest.combined(with: child.digest)
        }
        self.count = count
        self.digest = digest
    }

    func childIndex(for key: RowKey) -> Int {
        var low = 0
        var high = self.separators.count
        while low < high {
            let middle = (low + high) / 2
            if self.separators[middle] <= key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func lowerBound(_ key: RowKey) -> Int {
        var low = 0
        var high = self.keys.count
        while low < high {
            let middle = (low + high) / 2
            if self.keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Precondition: this node is held by one tree alone. Answers the right half when the node had to split.
    func insert(_ key: RowKey, _ sectionHash: UInt64) -> (isNew: Bool, split: TreeNode?) {
        if self.isLeaf {
            let index = self.lowerBound(key)
            if index < self.keys.count, self.keys[index] == key { return (false, nil) }
            self.keys.insert(key, at: index)
            guard self.keys.count > Self.leafMax else {
                self.summarizeLeaf(sectionHash)
                return (true, nil)
            }
            // Appending splits off little, so that a list that grows at its end fills its leaves.
            let middle = index == self.keys.count - 1 ? self.keys.count * 7 / 8 : self.keys.count / 2
            let right = TreeNode(leaf: Array(self.keys[middle...]), sectionHash: sectionHash)
            self.keys.removeSubrange(middle...)
            self.summarizeLeaf(sectionHash)
            return (true, right)
        }
        let index = self.childIndex(for: key)
        OrderStatisticTree.makeUnique(&self.children[index])
        let (isNew, split) = self.children[index].insert(key, sectionHash)
        if let split {
            self.children.insert(split, at: index + 1)
            self.separators.insert(split.leastKey, at: index)
        }
        guard self.children.count > Self.childrenMax else {
            self.summarize()
            return (isNew, nil)
        }
        let middle = self.children.count / 2
        let right = TreeNode(children: Array(self.children[middle...]))
        self.children.removeSubrange(middle...)
        self.separators.removeSubrange((middle - 1)...)
        self.summarize()
        return (isNew, right)
    }

    /// Precondition: this node is held by one tree alone.
    func remove(_ key: RowKey, _ sectionHash: UInt64) -> Bool {
        if self.isLeaf {
            let index = self.lowerBound(key)
            guard index < self.keys.count, self.keys[index] == key else { return false }
            self.keys.remove(at: index)
            self.summarizeLeaf(sectionHash)
            return true
        }
        let index = self.childIndex(for: key)
        OrderStatisticTree.makeUnique(&self.children[index])
        guard self.children[index].remove(key, sectionHash) else { return false }
        self.mend(index, sectionHash)
        self.summarize()
        return true
    }

    /// Joins a child that has become small with a neighbour, when both fit in one.
    private func mend(_ index: Int, _ sectionHash: UInt64) {
        guard self.children.count > 1 else { return }
        let child = self.children[index]
        if child.count == 0 {
            // Nothing to join: the child goes.
            self.children.remove(at: index)
            self.separators.remove(at: max(index - 1, 0))
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
            ? TreeNode(leaf: a.keys + b.keys, sectionHash: sectionHash) : TreeNode(children: a.children + b.children)
        self.children.remove(at: left + 1)
        self.separators.remove(at: left)
    }

    func validate(_ sectionHash: UInt64, isRoot: Bool) -> Int {
        if self.isLeaf {
            precondition(isRoot || !self.keys.isEmpty, "an empty leaf")
            precondition(zip(self.keys, self.keys.dropFirst()).allSatisfy { $0 < $1 }, "keys out of order")
            let fresh = TreeNode(leaf: self.keys, sectionHash: sectionHash)
            precondition(fresh.count == self.count && fresh.digest == self.digest, "a leaf's summary")
            return 0
        }
        precondition(self.separators.count == self.children.count - 1, "separators")
        precondition(self.children.count <= Self.childrenMax, "too many children")
        let heights = Set(self.children.map { $0.validate(sectionHash, isRoot: false) })
        precondition(heights.count == 1, "leaves at different heights")
        for (index, separator) in self.separators.enumerated() {
            precondition(separator <= self.children[index + 1].leastKey, "a separator above its child")
        }
        let fresh = TreeNode(children: self.children)
        precondition(fresh.count == self.count && fresh.digest == self.digest, "a node's summary")
        return heights.first! + 1
    }
}
