import NestModel

/// An outline while transactions are laid over it. It walks down the lists of the shown objects, as the server does,
/// and says which rows that gives. If that depends on rows beyond the window, the rows stay as the server has them.
struct LaidOutline {
    private let view: Int
    private let shape: ViewShape
    private let paths: KnownPaths
    private let values: RowValues
    private let base: SectionedSnapshot
    private let outline: FetchOutline
    private let exceptions: Set<ObjectID>
    private var result: OverlaidView
    /// The changes of the numbers of admitted children.
    private var childChanges: [ObjectID: Int] = [:]
    private var rows: [Row] = []
    /// The depth of the last row of which some rows below are beyond the window's end: behind them nothing is known.
    private var openDepth: Int?
    private var isBroken = false
    /// The number of rows that the transactions put beyond the window: before it and behind it.
    private var countBefore = 0
    private var countAfter = 0
    /// The number of rows that are remembered and that the server's total counts.
    private var countedRows = 0
    /// The objects with rows beyond the window's end that are still there.
    private var openRows: Set<ObjectID> = []

    private var known: KnownObjects { self.paths.known }

    /// The shape is that of an outline.
    init(_ view: Int, _ shape: ViewShape, _ paths: KnownPaths) {
        self.view = view
        self.shape = shape
        self.paths = paths
        self.base = paths.known.shown.views[view].state
        self.values = RowValues(shape, self.base.projection, paths)
        self.outline = shape.request.outline ?? FetchOutline()
        self.exceptions = Set(self.outline.exceptions)
        self.result = OverlaidView(state: self.base, pending: [], undecided: [], doubts: 0)
    }

    mutating func finish() -> OverlaidView {
        self.result.doubts = self.known.opaqueSteps + self.shape.doubts(self.paths)
        guard let tree = self.known.shown.outlines[self.view], let source = self.shape.request.source else {
            if !self.known.changes.isEmpty { self.result.doubts += 1 }
            return self.result
        }
        if self.known.isGone(source.object) {
            self.publish([])
            self.result.state.window?.total = 0
            self.result.state.window?.begin(at: 0)
            return self.result
        }
        if self.known.doubtfulOutlines.contains(self.view) { self.result.doubts += 1 }
        self.countChildren(tree)
        for above in tree.spine { self.walk(above.owner, above.depth, tree) }
        // With a row all go that are below it, also those beyond the window's end.
        if tree.nodes.contains(where: { !$0.isWhole && !self.openRows.contains($0.row.id) }) { self.result.doubts += 1 }
        if self.isBroken {
            self.result.doubts += 1
            self.publish(self.oldRows(tree))
        } else {
            let change = self.rows.count + self.countBefore + self.countAfter - tree.nodes.count - self.countedRows
            self.publish(self.rows)
            self.result.state.window?.total += change
            self.result.state.window?.begin(at: (self.base.window?.start.row ?? 0) + self.countBefore)
        }
        return self.result
    }

    // MARK: Which objects are children of which

    /// Whether an object is a row if its parent is unfolded; `nil` if that is not known.
    private func isAdmitted(_ id: ObjectID, _ tree: ShownOutline) -> Bool? {
        if self.known.isGone(id) { return false }
        let wasRow = tree[id] != nil
        if !wasRow {
            guard let entity = self.known.entity(of: id) else { return nil }
            if !self.known.model.isKind(entity.number, of: self.shape.entity.number) { return false }
        }
        let truths = tree.memory(of: id)?.row.truths ?? []
        let isTrue = self.shape.predicate.isTrue(of: id, self.paths, wasTrue: wasRow, truths)
        return isTrue == true && self.known.changes[id]?.mayBeGone == true ? nil : isTrue
    }

    /// Finds out whose number of children has changed, and counts the objects of which that is not known.
    private mutating func countChildren(_ tree: ShownOutline) {
        guard let toOne = self.shape.toOne else { return }
        let spine = Set(tree.spine.map(\.owner))
        for (id, change) in self.known.changes {
            let memory = tree.memory(of: id)
            let oldOwner = tree[id]?.owner ?? memory?.node.owner
            if tree[id] == nil, memory == nil, !self.known.isFresh(id) {
                // It may be below a folded row, or beyond the window.
                if self.mayConcern(id, change, toOne) { self.result.doubts += 1 }
                continue
            }
            let isAdmitted = self.isAdmitted(id, tree)
            let above = self.known.value(toOne, of: id)
            guard let isAdmitted, !isAdmitted || above != nil else {
                self.result.undecided.insert(id)
                self.result.doubts += 1
                continue
            }
            let owner = isAdmitted ? above?.referenceValue : nil
            guard owner != oldOwner else { continue }
            if let oldOwner { self.childChanges[oldOwner, default: 0] -= 1 }
            guard let owner else { continue }
            self.childChanges[owner, default: 0] += 1
            let isHere = tree.contains(owner) || self.known.isFresh(owner) || spine.contains(owner)
            if !isHere { self.result.doubts += 1 }
        }
    }

    /// Whether a change of an object that is no row may change the outline.
    private func mayConcern(_ id: ObjectID, _ change: KnownObjects.Change, _ toOne: PropertyNumber) -> Bool {
        if let entity = self.known.entity(of: id),
            !self.known.model.areRelated(entity.number, self.shape.entity.number)
        {
            return false
        }
        if change.isGone || change.mayBeGone || change.values[toOne] != nil { return true }
        if case .attribute(let property) = self.outline.expansion, change.values[property] != nil { return true }
        return self.shape.predicate.comparisons.contains { self.paths.isAffected($0, of: id) }
    }

    /// Whether a row is unfolded; `nil` if that is not known.
    private func isExpanded(_ id: ObjectID, _ tree: ShownOutline) -> Bool? {
        let node = tree[id]
        if let memory = tree.memory(of: id) { return self.isExpanded(id, memory) }
        guard case .attribute(let property) = self.outline.expansion else {
            // A row without children has nothing to hide: the state that it is to have shows at once.
            if let node, node.childCount > 0 { return node.isExpanded }
            return (self.outline.expansion == .all) != self.exceptions.contains(id)
        }
        guard let node else {
            if let state = self.known.shown.views[self.view].expanded[id] { return state }
            return self.known.value(property, of: id).map { ($0 == .boolean(true)) != self.exceptions.contains(id) }
        }
        guard let change = self.known.changes[id]?.values[property] else { return node.isExpanded }
        let was = self.shape.slots[property].map { node.row.values[$0] }
        return change.map { ($0 == .boolean(true)) == (was == .boolean(true)) ? node.isExpanded : !node.isExpanded }
    }

    private func isExpanded(_ id: ObjectID, _ memory: ShownOutline.Memory) -> Bool? {
        guard case .attribute(let property) = self.outline.expansion else {
            if memory.node.childCount > 0 { return memory.node.isExpanded }
            return (self.outline.expansion == .all) != self.exceptions.contains(id)
        }
        guard let change = self.known.changes[id]?.values[property] else { return memory.node.isExpanded }
        let was = memory.row.values[property]
        return change.map {
            ($0 == .boolean(true)) == (was == .boolean(true)) ? memory.node.isExpanded : !memory.node.isExpanded
        }
    }

    // MARK: Walking down

    /// Adds the rows below an object. A stack, because an outline may be deeper than the thread's.
    private mutating func walk(_ owner: ObjectID, _ depth: Int, _ tree: ShownOutline) {
        var stack: [(entries: ArraySlice<ObjectID>, depth: Int)] = [(self.entries(owner, depth, tree), depth)]
        while let last = stack.popLast() {
            guard let id = last.entries.first else { continue }
            stack.append((last.entries.dropFirst(), last.depth))
            if self.add(id, last.depth, tree) {
                stack.append((self.entries(id, last.depth + 1, tree), last.depth + 1))
            }
        }
    }

    /// Returns the children of an object in their order, and counts those that are beyond the window.
    private mutating func entries(_ owner: ObjectID, _ depth: Int, _ tree: ShownOutline) -> ArraySlice<ObjectID> {
        guard let sketch = self.known.lists[ListID(view: self.view, owner: owner)] else { return [] }
        if !sketch.uncertain.isEmpty {
            self.result.undecided.formUnion(sketch.uncertain)
            self.result.doubts += 1
        }
        for id in sketch.before.sorted() {
            if tree[id]?.isWhole == false { self.result.doubts += 1 }
            self.countBefore += self.countRows(id, depth, tree)
        }
        for id in sketch.after.sorted() { self.countAfter += self.countRows(id, depth, tree) }
        return sketch.entries[...]
    }

    /// Returns the number of rows that an object and all below it have.
    private mutating func countRows(_ id: ObjectID, _ depth: Int, _ tree: ShownOutline) -> Int {
        var other = self
        other.rows = []
        other.countBefore = 0
        other.countAfter = 0
        if other.add(id, depth, tree) { other.walk(id, depth + 1, tree) }
        self.openRows = other.openRows
        self.countedRows = other.countedRows
        self.result.doubts = other.result.doubts
        self.result.undecided = other.result.undecided
        return other.rows.count + other.countBefore + other.countAfter
    }

    /// Adds the row of an object. Returns whether rows below it follow.
    private mutating func add(_ id: ObjectID, _ depth: Int, _ tree: ShownOutline) -> Bool {
        let node = tree[id]
        let memory = tree.memory(of: id)
        let isAdmitted = self.isAdmitted(id, tree)
        if isAdmitted == false { return false }
        guard node != nil || (isAdmitted == true && (memory != nil || self.known.isFresh(id))) else {
            // It comes from elsewhere: it is not known how many rows are below it.
            self.result.undecided.insert(id)
            self.result.doubts += 1
            return false
        }
        let expanded = self.isExpanded(id, tree)
        var isExpanded = expanded ?? node?.isExpanded ?? memory?.node.isExpanded ?? false
        let wasExpanded = node?.isExpanded ?? memory?.node.isExpanded
        let childCount = node?.childCount ?? memory?.node.childCount ?? 0
        if isExpanded, wasExpanded == false, childCount > 0 {
            // The rows below it are not known, or only those that it had.
            isExpanded = node != nil && tree.rememberedChildren(of: id) != nil
            self.result.doubts += 1
        }
        if let memory {
            self.result.undecided.insert(id)
            if memory.row.root == id { self.result.doubts += 1 }
        }
        if expanded == nil { self.result.doubts += 1 }
        if let node, !node.isWhole, node.isExpanded, !isExpanded { self.result.doubts += 1 }
        guard let row = self.row(id, tree, depth, isExpanded) else {
            self.result.undecided.insert(id)
            self.result.doubts += 1
            return false
        }
        if let open = self.openDepth, depth <= open { self.isBroken = true }
        if memory != nil, self.isCounted(id, tree) { self.countedRows += 1 }
        if let node, !node.isWhole {
            self.openRows.insert(id)
            if isExpanded { self.openDepth = depth }
        }
        self.rows.append(row)
        return isExpanded
    }

    /// Whether the server's total counts an object of which the row is remembered: it is beyond the window.
    private func isCounted(_ id: ObjectID, _ tree: ShownOutline) -> Bool {
        guard let memory = tree.memory(of: id), let owner = tree.memory(of: memory.row.root)?.node.owner else {
            return false
        }
        return tree[owner]?.isExpanded ?? tree.spine.contains { $0.owner == owner }
    }

    private mutating func row(_ id: ObjectID, _ tree: ShownOutline, _ depth: Int, _ isExpanded: Bool) -> Row? {
        let (node, memory) = (tree[id], tree.memory(of: id))
        let isChanged = self.known.changes[id] != nil
        if isChanged { self.result.pending.insert(id) }
        var row: Row
        if let node {
            row = node.row
            if isChanged || self.values.mayChangeOthers {
                let (new, isKnown) = self.values.overlaid(row)
                row = new
                if !isKnown { self.result.undecided.insert(id) }
            }
        } else {
            guard let new = self.values.newRow(id, memory?.row) else { return nil }
            row = new
        }
        let childCount = node?.childCount ?? memory?.node.childCount ?? 0
        let count = Int64(childCount + self.childChanges[id, default: 0])
        if let slot = self.shape.slots[.outlineDepth] { row.values[slot] = .integer(Int64(depth)) }
        if let slot = self.shape.slots[.outlineChildren] {
            row.values[slot] = .integer(isExpanded ? count : -1 - count)
        }
        return row
    }

    /// The server's rows at their places, without those that are deleted.
    private mutating func oldRows(_ tree: ShownOutline) -> [Row] {
        self.result.pending = []
        var rows: [Row] = []
        for node in tree.nodes where !self.known.isGone(node.row.id) {
            if self.known.changes[node.row.id] != nil { self.result.pending.insert(node.row.id) }
            rows.append(self.values.overlaid(node.row).row)
        }
        return rows
    }

    // MARK: What is remembered

    /// Returns what to remember of objects that are no rows any more, or are folded, with the rows below them: of those
    /// that the transactions took out or folded. `isHidden`: whether an object below is no row now.
    mutating func remembered(
        _ ids: Set<ObjectID>,
        isHidden: (ObjectID) -> Bool
    ) -> [ObjectID: RememberedRow] {
        let laid = self.finish()
        guard let tree = self.known.shown.outlines[self.view] else { return [:] }
        let isFolded = OverlayView(request: self.shape.request, state: laid.state).isFolded
        var all: [ObjectID: RememberedRow] = [:]
        for root in ids.sorted() where isHidden(root) ? isFolded[root] == nil : isFolded[root] == true {
            let isKnown = tree.memory(of: root) != nil || tree.rememberedChildren(of: root) != nil
            guard isKnown || !laid.undecided.contains(root) else { continue }
            var stack = [root]
            while let id = stack.popLast() {
                guard all[id] == nil, let row = self.remembered(id, root, tree) else { continue }
                all[id] = row
                stack += (row.node?.children ?? []).filter { isFolded[$0] == nil && isHidden($0) }
            }
        }
        return all
    }

    /// Returns `nil` for an object that was no row, and for a folded row that was folded.
    private func remembered(_ id: ObjectID, _ root: ObjectID, _ tree: ShownOutline) -> RememberedRow? {
        guard let toOne = self.shape.toOne else { return nil }
        let (node, memory) = (tree[id], tree.memory(of: id))
        guard node != nil || memory != nil || self.known.isFresh(id) else { return nil }
        let isExpanded = self.isExpanded(id, tree) ?? false
        let wasExpanded = node?.isExpanded ?? memory?.node.isExpanded ?? true
        let count = node?.childCount ?? memory?.node.childCount ?? 0
        let owner = self.known.value(toOne, of: id)?.referenceValue
        let before = self.known.shown.views[self.view].remembered[id]
        let found = owner.flatMap { self.known.place(of: id, in: ListID(view: self.view, owner: $0)) }
        let children = self.known.lists[ListID(view: self.view, owner: id)]?.entries
        return self.known.remembered(
            id,
            root: root,
            in: self.view,
            self.paths,
            place: found ?? before?.place,
            node: RememberedRow.Node(
                owner: self.isAdmitted(id, tree) == false ? nil : owner,
                childCount: count + self.childChanges[id, default: 0],
                isExpanded: isExpanded && (wasExpanded || count == 0),
                children: children ?? []
            )
        )
    }

    private mutating func publish(_ rows: [Row]) {
        let key = self.base.sections.first?.key ?? .string("")
        self.result.state.sections = [ResultsSection(key: key, rows: rows)]
    }
}

extension WindowPosition {
    /// The window of a result without sections begins at a row.
    mutating func begin(at row: Int) {
        self.start.row = row
        self.start.rowInSection = row
    }
}
