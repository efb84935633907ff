import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// The rows of an outline, and the row that its window is around. Keeps the anchor's position while rows come and go,
/// so that a window whose anchor leaves continues around the row that takes its position.
struct OutlineTree {
    private(set) var tree = FlatTree()
    /// The object that the window follows; `nil`: none.
    private(set) var anchor: ObjectID?
    /// The position of the anchor, also after it has left; kept during an update.
    private var gap: Int?

    var count: Int { self.tree.count }

    /// Replaces all rows. The anchor stays if it is a row.
    mutating func reset(_ rows: [FlatTree.Entry]) {
        let position = self.anchor.flatMap { self.tree.index(of: $0) }
        self.tree = FlatTree(rows)
        self.gap = position
        if self.anchor != nil { self.follow() }
    }

    /// Takes the rows of another tree. The anchor stays if it is a row there; else the row in its position follows.
    mutating func replace(with other: OutlineTree) {
        let position = self.gap ?? self.anchor.flatMap { self.tree.index(of: $0) }
        self.tree = other.tree
        self.gap = position
        self.follow()
    }

    /// Follows another object, which is a row; `nil`: none.
    mutating func setAnchor(_ id: ObjectID?) { self.anchor = id }

    mutating func begin() { self.gap = self.anchor.flatMap { self.tree.index(of: $0) } }

    /// Ends an update: if the anchor is no row any more, the row in its position becomes the anchor.
    mutating func follow() {
        defer { self.gap = nil }
        if let anchor, self.tree.contains(anchor) { return }
        self.anchor = self.tree.count == 0 ? nil : self.tree.entry(at: min(self.gap ?? 0, self.tree.count - 1)).id
    }

    mutating func insert(_ rows: [FlatTree.Entry], at index: Int) {
        self.tree.insert(rows, at: index)
        if let gap, index < gap { self.gap = gap + rows.count }
    }

    mutating func cut(_ range: Range<Int>) -> FlatTree.Piece {
        if let gap, range.lowerBound <= gap { self.gap = max(range.lowerBound, gap - range.count) }
        return self.tree.cut(range)
    }

    mutating func hang(_ piece: FlatTree.Piece, at index: Int, depth: Int) {
        if let gap, index < gap { self.gap = gap + piece.count }
        self.tree.hang(piece, at: index, depth: depth)
    }

    /// Removes all rows below a row.
    mutating func fold(_ id: ObjectID) {
        guard let index = self.tree.index(of: id) else { return }
        self.tree.setExpanded(false, of: id)
        let end = self.tree.end(ofSubtreeAt: index)
        if end > index + 1 { self.tree.discard(self.cut(index + 1..<end)) }
    }

    /// Adds rows below a row.
    mutating func unfold(_ id: ObjectID, _ rows: [FlatTree.Entry], childCount: Int) {
        guard let index = self.tree.index(of: id) else { return }
        self.tree.setExpanded(true, of: id)
        self.tree.setChildCount(childCount, of: id)
        self.insert(rows, at: index + 1)
    }
}

/// Brings the rows of an outline from the state before a batch to that of the store.
///
/// 1. The numbers of children of rows are corrected, also of rows that will move.
/// 2. Rows whose attribute has folded them lose what is below them.
/// 3. A row that is gone, hidden or at another place is cut with all below it; later rows first.
/// 4. An object that is to be shown is put to the right of its nearest shown sibling: a piece that was cut is hung in,
///    anything else is read from the store with what is unfolded below it. Parents come before their children.
/// 5. Pieces that are left are forgotten. Rows whose attribute has unfolded them get what is below them.
///
/// O(k log n) for k changed objects, and the rows that are read. When it throws, the rows must be read anew.
struct OutlineUpdate {
    private let source: OutlineSource
    private let changes: OutlineChanges
    private let related: RelatedState
    private var reader: OutlineReader
    private var rows: OutlineTree
    private var pieces: [ObjectID: FlatTree.Piece] = [:]
    /// Objects to show whose parent is not a row yet, by their parent.
    private var waiting: [ObjectID: [ObjectID]] = [:]
    /// The parents among these that are in a piece, by the piece.
    private var waitingIn: [ObjectIdentifier: [ObjectID]] = [:]

    private var tree: FlatTree { self.rows.tree }

    private init(_ source: OutlineSource, _ changes: OutlineChanges, _ rows: OutlineTree, _ reader: OutlineReader) {
        self.source = source
        self.changes = changes
        self.related = reader.related
        self.reader = reader
        self.rows = rows
    }

    static func apply(
        _ changes: OutlineChanges,
        to rows: inout OutlineTree,
        _ source: OutlineSource,
        _ reader: OutlineReader
    ) throws(StoreError) {
        var update = OutlineUpdate(source, changes, rows, reader)
        update.rows.begin()
        try update.run()
        update.rows.follow()
        rows = update.rows
    }

    private mutating func run() throws(StoreError) {
        let ids = self.changes.ids
        try self.count(ids)
        let unfolding = try self.fold(ids)
        try self.cut(ids)
        try self.show(ids)
        for piece in self.pieces.values { self.tree.discard(piece) }
        self.pieces = [:]
        for id in unfolding {
            guard let state = self.tree.entry(of: id), !state.isExpanded else { continue }
            let (rows, childCount) = try self.reader.rows(below: id, depth: state.depth + 1)
            self.rows.unfold(id, rows, childCount: childCount)
        }
        guard self.tree.count <= self.source.rowsMax else { throw self.source.tooManyRows }
    }

    private func parent(_ row: ObjectRow?) -> ObjectID? { row?.values[self.source.slot].referenceValue }

    private func admits(_ id: ObjectID, _ row: ObjectRow?) throws(StoreError) -> Bool {
        guard let row else { return false }
        return try self.source.admits(id, row, self.related)
    }

    // MARK: Numbers of children

    private mutating func count(_ ids: Set<ObjectID>) throws(StoreError) {
        let isExact = self.source.filterPaths.isEmpty
        var differences: [ObjectID: Int] = [:]
        var unknown: Set<ObjectID> = []
        for id in ids {
            for (row, sign) in [(try self.changes.old(id), -1), (try self.changes.row(id), 1)] {
                guard let parent = self.parent(row), self.tree.state(of: parent) != nil else { continue }
                if !isExact {
                    unknown.insert(parent)
                } else if try self.admits(id, row) {
                    differences[parent, default: 0] += sign
                }
            }
        }
        for (id, difference) in differences where difference != 0 {
            if let state = self.tree.state(of: id) { self.tree.setChildCount(state.childCount + difference, of: id) }
        }
        // What the filter admitted before is not known when it reads other objects.
        for id in unknown { self.tree.setChildCount(try self.reader.childCount(of: id), of: id) }
    }

    // MARK: Fold states by an attribute

    /// Folds rows. Returns the rows to unfold at the end.
    private mutating func fold(_ ids: Set<ObjectID>) throws(StoreError) -> [ObjectID] {
        guard self.source.folds.attributeSlot != nil else { return [] }
        var unfolding: [ObjectID] = []
        for id in ids {
            guard self.tree.contains(id), let state = self.tree.state(of: id), let row = try self.changes.row(id) else {
                continue
            }
            let isExpanded = self.source.folds.isExpanded(id, row)
            if state.isExpanded, !isExpanded { self.rows.fold(id) }
            if !state.isExpanded, isExpanded { unfolding.append(id) }
        }
        return unfolding
    }

    // MARK: Rows that leave their place

    private mutating func cut(_ ids: Set<ObjectID>) throws(StoreError) {
        var leaving: [(index: Int, id: ObjectID)] = []
        for id in ids {
            guard let index = self.tree.index(of: id) else { continue }
            let (old, row) = (try self.changes.old(id), try self.changes.row(id))
            let place = self.source.place
            let isInPlace = self.parent(old) == self.parent(row) && old?.places[place].stamp == row?.places[place].stamp
            if isInPlace, try self.admits(id, row) { continue }
            leaving.append((index, id))
        }
        for (index, id) in leaving.sorted(by: { $0.index > $1.index }) {
            self.pieces[id] = self.rows.cut(index..<self.tree.end(ofSubtreeAt: index))
        }
    }

    // MARK: Rows that arrive

    private mutating func show(_ ids: Set<ObjectID>) throws(StoreError) {
        var arriving: [(parent: ObjectID, position: Int64, id: ObjectID)] = []
        for id in ids where !self.tree.contains(id) {
            guard let row = try self.changes.row(id), let parent = self.parent(row), self.isKnown(parent, among: ids),
                try self.admits(id, row)
            else { continue }
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

    /// Whether an object may be the parent of a row at the end.
    private func isKnown(_ parent: ObjectID, among ids: Set<ObjectID>) -> Bool {
        parent == self.source.root || self.tree.state(of: parent) != nil || ids.contains(parent)
            || self.isBelowArriving(parent)
    }

    /// Rows that are read in this update get all their children from the store, except pieces, which wait for them.
    private func isBelowArriving(_ parent: ObjectID) -> Bool { !self.pieces.isEmpty }

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
        var index = parentIndex + 1
        var last = (id: id, position: row.places[self.source.place].position)
        while let left = try self.changes.left(of: last.id, at: last.position, owner: parent, place: self.source.place)
        {
            if let shown = self.tree.index(of: left.id) {
                index = self.tree.end(ofSubtreeAt: shown)
                break
            }
            last = left
        }
        if let piece = self.pieces.removeValue(forKey: id) {
            let inside = self.waitingIn.removeValue(forKey: piece.part) ?? []
            self.rows.hang(piece, at: index, depth: depth)
            return inside + [id]
        }
        let pieces = self.pieces
        let rows = try self.reader.rows(of: id, row, depth: depth) { pieces[$0] != nil }
        self.rows.insert(rows, at: index)
        return self.waiting.isEmpty ? [] : rows.map(\.id).filter { self.waiting[$0] != nil }
    }
}
