import NestModel

/// The server's rows of an outline as a tree, as far as the window shows it.
struct ShownOutline {
    struct Node {
        let row: Row
        /// The object whose child it is.
        let owner: ObjectID
        let depth: Int
        /// The number of children that the predicate admits.
        let childCount: Int
        let isExpanded: Bool
        /// The index after the last row below it.
        fileprivate(set) var end = 0
        /// Whether the window has all rows below it.
        fileprivate(set) var isWhole = true
    }

    struct Memory {
        let row: RememberedRow
        let node: RememberedRow.Node
    }

    /// An object whose children the window shows, though it is not a row of the window itself.
    struct Above {
        let owner: ObjectID
        /// The depth of its children.
        let depth: Int
    }

    private(set) var nodes: [Node] = []
    private var indexes: [ObjectID: Int] = [:]
    /// What is remembered of objects that are no rows any more, with what was below them.
    private var remembered: [ObjectID: RememberedRow]
    /// The objects above the window, the nearest to its first row first. The last one is the object of the source.
    private(set) var spine: [Above] = []
    private let startsAtFirst: Bool
    private let endsAtLast: Bool

    /// Returns `nil` for a request that is no outline, or whose rows lack what the tree needs: parents, depths and
    /// numbers of children.
    init?(_ state: SectionedSnapshot, _ shape: ViewShape, _ remembered: [ObjectID: RememberedRow] = [:]) {
        guard let outline = shape.request.outline, outline.expansion != .asBefore, let source = shape.request.source,
            let above = shape.toOne.flatMap({ shape.slots[$0] }), let depth = shape.slots[.outlineDepth],
            let children = shape.slots[.outlineChildren], state.sections.count == 1
        else { return nil }
        if case .attribute(let property) = outline.expansion, shape.slots[property] == nil { return nil }
        self.startsAtFirst = shape.startsAtFirst
        self.endsAtLast = shape.endsAtLast
        self.remembered = remembered.filter { $0.value.node != nil }
        for row in state.sections[0].rows {
            guard let owner = row.values[above].referenceValue, case .integer(let depth) = row.values[depth],
                case .integer(let count) = row.values[children]
            else { return nil }
            self.indexes[row.id] = self.nodes.count
            self.nodes.append(
                Node(
                    row: row,
                    owner: owner,
                    depth: Int(depth),
                    childCount: Int(count >= 0 ? count : -1 - count),
                    isExpanded: count >= 0
                )
            )
        }
        self.findEnds()
        self.findSpine(below: source.object)
        // The rows show the children of these.
        for above in self.spine { self.remembered[above.owner] = nil }
    }

    func contains(_ id: ObjectID) -> Bool { self.indexes[id] != nil }

    subscript(_ id: ObjectID) -> Node? { self.indexes[id].map { self.nodes[$0] } }

    /// Returns what is remembered of an object that is no row.
    func memory(of id: ObjectID) -> Memory? {
        guard !self.contains(id), let row = self.remembered[id], let node = row.node else { return nil }
        return Memory(row: row, node: node)
    }

    /// Returns the children that are remembered of a row that is folded now.
    func rememberedChildren(of id: ObjectID) -> [ObjectID]? {
        guard let node = self[id], !node.isExpanded, node.childCount > 0 else { return nil }
        return self.remembered[id]?.node?.children
    }

    private mutating func findEnds() {
        var shownChildren = [Int](repeating: 0, count: self.nodes.count)
        var open: [Int] = []
        for index in self.nodes.indices {
            while let last = open.last, self.nodes[last].depth >= self.nodes[index].depth {
                self.nodes[last].end = index
                open.removeLast()
            }
            if let parent = open.last { shownChildren[parent] += 1 }
            open.append(index)
        }
        // What is still open reaches the window's end, each below the one before.
        var isWhole = true
        for index in open.reversed() {
            let node = self.nodes[index]
            isWhole = isWhole && (!node.isExpanded || shownChildren[index] == node.childCount)
            self.nodes[index].end = self.nodes.count
            self.nodes[index].isWhole = self.endsAtLast || isWhole
        }
    }

    private mutating func findSpine(below source: ObjectID) {
        guard !self.startsAtFirst else {
            self.spine = [Above(owner: source, depth: 0)]
            return
        }
        var depth = Int.max
        for node in self.nodes where node.depth < depth {
            depth = node.depth
            self.spine.append(Above(owner: node.owner, depth: depth))
        }
        if depth > 0 { self.spine.append(Above(owner: source, depth: 0)) }
    }

    /// Returns the lists of the objects whose children the window shows, or would show. `isFiltered`: the objects have
    /// children that are not shown.
    func sketches(isFiltered: Bool) -> [(owner: ObjectID, sketch: ListSketch)] {
        let children = Dictionary(grouping: self.nodes, by: \.owner).mapValues { $0.map(\.row.id) }
        func sketch(_ owner: ObjectID, _ startsAtFirst: Bool, _ endsAtLast: Bool) -> (ObjectID, ListSketch) {
            let sketch = ListSketch(
                entries: children[owner] ?? [],
                startsAtFirst: startsAtFirst,
                endsAtLast: endsAtLast,
                isComplete: startsAtFirst && endsAtLast && !isFiltered
            )
            return (owner, sketch)
        }
        let least = self.nodes.map(\.depth).min() ?? 0
        let above = self.spine.map { above in
            sketch(above.owner, self.startsAtFirst && above.depth == 0, self.endsAtLast || least < above.depth)
        }
        let below = self.nodes.compactMap { node -> (ObjectID, ListSketch)? in
            guard node.isExpanded || node.childCount == 0 else { return nil }
            let hasAll = (children[node.row.id]?.count ?? 0) == node.childCount
            return sketch(node.row.id, true, self.endsAtLast || node.end < self.nodes.count || hasAll)
        }
        let remembered = self.remembered.keys.compactMap { id -> (ObjectID, ListSketch)? in
            let memory = self.memory(of: id).flatMap { $0.node.isExpanded || $0.node.childCount == 0 ? $0 : nil }
            guard let children = memory?.node.children ?? self.rememberedChildren(of: id) else { return nil }
            // Those that are rows have another place now.
            let entries = children.filter { !self.contains($0) }
            return (id, ListSketch(entries: entries, startsAtFirst: true, endsAtLast: true, isComplete: false))
        }
        return above + below + remembered
    }
}
