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
            let change = self.rows.count + self.countBefore + self.countAfter - tree.nodes.count
            self.publish(self.rows)
            self.result.state.window?.total += change
            self.result.state.window?.begin(at: (self.base.window?.start.row ?? 0) + self.countBefore)
        }
        return self.result
    }

    // MARK: Which objects are children of which

    /// Whether an object is a row if its parent is unfolded; `nil` if that is not known.
    private func isAdmitted(_ id: ObjectID, wasRow: Bool) -> Bool? {
        if self.known.isGone(id) { return false }
        if !wasRow {
            guard let entity = self.known.entity(of: id) else { return nil }
            if !self.known.model.isKind(entity.number, of: self.shape.entity.number) { return false }
        }
        let isTrue = self.shape.predicate.isTrue(of: id, self.paths, wasTrue: wasRow)
        return isTrue == true && self.known.changes[id]?.mayBeGone == true ? nil : isTrue
    }

    /// Finds out whose number of children has changed, and counts the objects of which that is not known.
    private mutating func countChildren(_ tree: ShownOutline) {
        guard let toOne = self.shape.toOne else { return }
        let spine = Set(tree.spine.map(\.owner))
        for (id, change) in self.known.changes {
            let node = tree[id]
            if node == nil, !self.known.isFresh(id) {
                // It may be below a folded row, or beyond the window.
                if self.mayConcern(id, change, toOne) { self.result.doubts += 1 }
                continue
            }
            let isAdmitted = self.isAdmitted(id, wasRow: node != nil)
            let above = self.known.value(toOne, of: id)
            guard let isAdmitted, !isAdmitted || above != nil else {
                self.result.undecided.insert(id)
                self.result.doubts += 1
                continue
            }
            let owner = isAdmitted ? above?.referenceValue : nil
            guard owner != node?.owner else { continue }
            if let old = node?.owner { self.childChanges[old, default: 0] -= 1 }
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
    private func isExpanded(_ id: ObjectID, _ node: ShownOutline.Node?) -> Bool? {
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
        self.result.doubts = other.result.doubts
        self.result.undecided = other.result.undecided
        return other.rows.count + other.countBefore + other.countAfter
    }

    /// Adds the row of an object. Returns whether rows below it follow.
    private mutating func add(_ id: ObjectID, _ depth: Int, _ tree: ShownOutline) -> Bool {
        let node = tree[id]
        let isAdmitted = self.isAdmitted(id, wasRow: node != nil)
        if isAdmitted == false { return false }
        guard node != nil || (isAdmitted == true && self.known.isFresh(id)) else {
            // It comes from elsewhere: it is not known how many rows are below it.
            self.result.undecided.insert(id)
            self.result.doubts += 1
            return false
        }
        let expanded = self.isExpanded(id, node)
        var isExpanded = expanded ?? node?.isExpanded ?? false
        if let node, isExpanded, !node.isExpanded, node.childCount > 0 {
            // The rows below it are not known.
            isExpanded = false
            self.result.doubts += 1
        }
        if expanded == nil { self.result.doubts += 1 }
        if let node, !node.isWhole, node.isExpanded, !isExpanded { self.result.doubts += 1 }
        guard let row = self.row(id, node, depth, isExpanded) else {
            self.result.undecided.insert(id)
            self.result.doubts += 1
            return false
        }
        if let open = self.openDepth, depth <= open { self.isBroken = true }
        if let node, !node.isWhole {
            self.openRows.insert(id)
            if isExpanded { self.openDepth = depth }
        }
        self.rows.append(row)
        return isExpanded
    }

    private mutating func row(_ id: ObjectID, _ node: ShownOutline.Node?, _ depth: Int, _ isExpanded: Bool) -> Row? {
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
            guard let new = self.values.newRow(id) else { return nil }
            row = new
        }
        let count = Int64((node?.childCount ?? 0) + self.childChanges[id, default: 0])
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
