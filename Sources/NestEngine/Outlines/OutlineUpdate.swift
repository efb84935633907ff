import NestLiveQuery
import NestModel
import NestSchema
import NestStore

/// Brings the rows of an outline from the state before a batch to that of the store.
///
/// 1. The numbers of children of rows are corrected, also of rows that will move.
/// 2. Rows whose attribute has folded them lose what is below them.
/// 3. A row that is gone, hidden, or was moved is cut with all below it; later rows first.
/// 4. An object that is to be shown is put to its place among its shown siblings: a piece that was cut is hung in,
///    anything else is read from the store with what is unfolded below it. Parents come before their children.
/// 5. Pieces that are left are forgotten. Rows whose attribute has unfolded them get what is below them.
///
/// O(k log n) for k changed objects, O(log² n) for each place among hidden siblings, and the rows that are read. When
/// it throws, the rows must be read anew.
struct OutlineUpdate {
    /// What an update has changed.
    struct Outcome {
        /// Whether rows have come, gone or moved, or were folded or unfolded.
        var hasMoved = false
        /// The rows with another number of children.
        var counted: [ObjectID] = []
        /// The objects that were examined.
        var examined = 0
    }

    private let source: OutlineSource
    private let changes: OutlineChanges
    private let ids: [ObjectID]
    private let earlier: EarlierObjects
    private var reader: OutlineReader
    private var rows: OutlineTree
    private var pieces: [ObjectID: FlatTree.Piece] = [:]
    /// Objects to show whose parent is not a row yet, by their parent.
    private var waiting: [ObjectID: [ObjectID]] = [:]
    /// The parents among these that are in a piece, by the piece.
    private var waitingIn: [ObjectIdentifier: [ObjectID]] = [:]
    private var outcome = Outcome()

    private var tree: FlatTree { self.rows.tree }

    private init(
        _ source: OutlineSource,
        _ changes: OutlineChanges,
        _ ids: [ObjectID],
        _ related: DependencyChanges,
        _ rows: OutlineTree,
        _ reader: OutlineReader
    ) {
        self.source = source
        self.changes = changes
        self.ids = ids
        self.earlier = EarlierObjects(changes: related, now: reader.related)
        self.reader = reader
        self.rows = rows
    }

    /// `ids`: the objects of `changes` that concern the outline. `related`: the changes of objects that its filter
    /// reads.
    static func apply(
        _ changes: OutlineChanges,
        _ ids: [ObjectID],
        _ related: DependencyChanges,
        to rows: inout OutlineTree,
        _ source: OutlineSource,
        _ reader: OutlineReader
    ) throws(StoreError) -> Outcome {
        // Kept if the update throws: the rows that are read anew continue at this position.
        rows.begin()
        var update = OutlineUpdate(source, changes, ids, related, rows, reader)
        try update.run()
        update.rows.follow()
        rows = update.rows
        update.outcome.examined = reader.budget - update.reader.budget
        return update.outcome
    }

    private mutating func run() throws(StoreError) {
        try self.count()
        let unfolding = try self.fold()
        try self.cut()
        try self.show()
        for piece in self.pieces.values { self.tree.discard(piece) }
        self.pieces = [:]
        for id in unfolding {
            guard let state = self.tree.entry(of: id), !state.isExpanded else { continue }
            let (rows, childCount) = try self.reader.rows(below: id, depth: state.depth + 1)
            self.rows.unfold(id, rows, childCount: childCount)
            self.outcome.hasMoved = true
        }
        guard self.tree.count <= self.source.rowsMax else { throw self.source.tooManyRows }
    }

    private func parent(_ row: ObjectRow?) -> ObjectID? { row?.values.reference(self.source.slot) }

    private func admits(_ id: ObjectID, _ row: ObjectRow?) throws(StoreError) -> Bool {
        guard let row else { return false }
        return try self.source.admits(id, row, self.reader.related)
    }

    // MARK: Numbers of children

    private mutating func count() throws(StoreError) {
        var differences: [ObjectID: Int] = [:]
        for id in self.ids {
            if let old = try self.changes.old(id), let parent = self.parent(old), self.tree.knows(parent),
                try self.source.admits(id, old, self.earlier)
            {
                differences[parent, default: 0] -= 1
            }
            if let row = try self.changes.new(id), let parent = self.parent(row), self.tree.knows(parent),
                try self.admits(id, row)
            {
                differences[parent, default: 0] += 1
            }
        }
        for (id, difference) in differences where difference != 0 {
            guard let state = self.tree.state(of: id) else { continue }
            self.tree.setChildCount(state.childCount + difference, of: id)
            self.outcome.counted.append(id)
        }
    }

    // MARK: Fold states by an attribute

    /// Folds rows. Returns the rows to unfold at the end.
    private mutating func fold() throws(StoreError) -> [ObjectID] {
        guard self.source.folds.attributeSlot != nil else { return [] }
        var unfolding: [ObjectID] = []
        for id in self.ids {
            guard self.tree.contains(id), let state = self.tree.state(of: id), let row = try self.changes.new(id) else {
                continue
            }
            let isExpanded = self.source.folds.isExpanded(id, row)
            if state.isExpanded, !isExpanded {
                self.rows.fold(id)
                self.outcome.hasMoved = true
            }
            if !state.isExpanded, isExpanded { unfolding.append(id) }
        }
        return unfolding
    }

    // MARK: Rows that leave their place

    private mutating func cut() throws(StoreError) {
        var leaving: [(index: Int, id: ObjectID)] = []
        for id in self.ids {
            guard let index = self.tree.index(of: id) else { continue }
            if !self.changes.isMoved(id, place: self.source.place), try self.admits(id, self.changes.new(id)) {
                continue
            }
            leaving.append((index, id))
        }
        for (index, id) in leaving.sorted(by: { $0.index > $1.index }) {
            self.pieces[id] = self.rows.cut(index..<self.tree.end(ofSubtreeAt: index))
            self.outcome.hasMoved = true
        }
    }

    // MARK: Rows that arrive

    private mutating func show() throws(StoreError) {
        var arriving: [(parent: ObjectID, position: Int64, id: ObjectID)] = []
        for id in self.ids where !self.tree.contains(id) {
            guard let new = try self.changes.new(id), let parent = self.parent(new) else { continue }
            // What is below an object that is read from the store is read with it, except pieces.
            guard parent == self.source.root || self.tree.knows(parent) || self.pieces[id] != nil else { continue }
            try self.reader.spend(1)
            guard let row = try self.changes.row(id), try self.admits(id, row) else { continue }
            arriving.append((parent, row.places[self.source.place].position, id))
        }
        // From left to right, so that the sibling to the left is mostly shown already.
        arriving.sort { ($0.parent, $0.position, $0.id) < ($1.parent, $1.position, $1.id) }
        var ready: [ObjectID] = []
        for (parent, _, id) in arriving {
            if self.showsChildren(parent) { ready.append(id) } else { self.wait(id, for: parent) }
        }
        ready.reverse()
        while let id = ready.popLast() {
            guard !self.tree.contains(id) else { continue }
            for parent in try self.place(id) where self.showsChildren(parent) {
                ready += (self.waiting.removeValue(forKey: parent) ?? []).reversed()
            }
        }
    }

    private func showsChildren(_ parent: ObjectID) -> Bool {
        parent == self.source.root
            || self.tree.contains(parent) && self.tree.state(of: parent)?.isExpanded == true
    }

    private mutating func wait(_ id: ObjectID, for parent: ObjectID) {
        if self.waiting[parent] == nil, let part = self.tree.part(of: parent) {
            self.waitingIn[part, default: []].append(parent)
        }
        self.waiting[parent, default: []].append(id)
    }

    /// Shows an object whose parent shows its children. Returns the objects that are rows now and for which others
    /// wait.
    private mutating func place(_ id: ObjectID) throws(StoreError) -> [ObjectID] {
        guard let row = try self.changes.row(id), let parent = self.parent(row) else { return [] }
        let parentIndex = parent == self.source.root ? -1 : self.tree.index(of: parent) ?? -1
        let depth = parentIndex < 0 ? 0 : self.tree.entry(at: parentIndex).depth + 1
        let index = try self.index(of: id, row, parent, parentIndex, depth: depth)
        self.outcome.hasMoved = true
        if let piece = self.pieces.removeValue(forKey: id) {
            let inside = self.waitingIn.removeValue(forKey: piece.part) ?? []
            self.rows.hang(piece, at: index, depth: depth)
            return inside + [id]
        }
        if self.changes.isNewLeaf(id, self.source.slot) {
            let isExpanded = self.source.folds.isExpanded(id, row)
            self.rows.insert([FlatTree.Entry(id: id, depth: depth, childCount: 0, isExpanded: isExpanded)], at: index)
            return self.waiting[id] == nil ? [] : [id]
        }
        let pieces = self.pieces
        let rows = try self.reader.rows(of: id, row, depth: depth) { pieces[$0] != nil }
        self.rows.insert(rows, at: index)
        return self.waiting.isEmpty ? [] : rows.map(\.id).filter { self.waiting[$0] != nil }
    }

    /// Returns the index of the row that an object is to be: behind its shown siblings to the left. Mostly the next one
    /// is shown. Otherwise a binary search over the shown siblings, so that any number of hidden ones costs nothing.
    private mutating func index(
        of id: ObjectID,
        _ row: ObjectRow,
        _ parent: ObjectID,
        _ parentIndex: Int,
        depth: Int
    ) throws(StoreError) -> Int {
        let place = self.source.place
        let position = row.places[place].position
        var first = parentIndex + 1
        guard let left = try self.changes.left(of: id, at: position, owner: parent, place: place) else { return first }
        if let shown = self.tree.index(of: left.id) { return self.tree.end(ofSubtreeAt: shown) }
        var end = parentIndex < 0 ? self.tree.count : self.tree.end(ofSubtreeAt: parentIndex)
        while first < end {
            try self.reader.spend(1)
            let child = self.tree.index(ofDepth: depth, above: first + (end - first) / 2)
            let childID = self.tree.entry(at: child).id
            guard let sibling = try self.changes.row(childID) else {
                // The rows do not fit the store: they are read anew.
                throw .postponed(.resultTooExpensive)
            }
            if (sibling.places[place].position, childID) < (position, id) {
                first = self.tree.end(ofSubtreeAt: child)
            } else {
                end = child
            }
        }
        return first
    }
}
