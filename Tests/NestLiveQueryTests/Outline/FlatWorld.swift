import NestLiveQuery
import NestModel
import NestTestSupport

/// A flat tree and the same rows in an array, after the same random operations.
struct FlatWorld {
    typealias Entry = FlatTree.Entry

    let tree: FlatTree
    private(set) var rows: [Entry]
    private(set) var pieces: [(piece: FlatTree.Piece, rows: [Entry])] = []
    private(set) var violations: [String] = []
    private var random: SeededRandom
    private let sizeMax: Int
    private var lastID: Int64

    init(seed: UInt64, count: Int, sizeMax: Int) {
        self.random = SeededRandom(seed: seed)
        self.sizeMax = sizeMax
        self.lastID = 0
        self.rows = []
        self.tree = FlatTree([Entry]())
        self.rows = self.newRows(count)
        self.tree.insert(self.rows, at: 0)
    }

    private mutating func newRows(_ count: Int) -> [Entry] {
        // Trees, chains, lists, and depths that no outline has.
        let kind = self.random.below(4)
        var depth = self.random.below(5)
        return (0..<count).map { _ in
            self.lastID += 1
            switch kind {
            case 0: depth = max(0, depth + 1 - self.random.below(4))
            case 1: depth += 1
            case 2: break
            default: depth = self.random.below(1_000)
            }
            return Entry(
                id: ObjectID(self.lastID),
                depth: depth,
                childCount: self.random.below(3),
                isExpanded: self.random.oneIn(2)
            )
        }
    }

    /// Does one random operation, and checks the answers of all reads.
    mutating func step() {
        switch self.random.below(10) {
        case 0...2: self.insert()
        case 3...5: self.cut()
        case 6, 7: self.hang()
        case 8: self.discard()
        default: self.setState()
        }
        self.check()
    }

    private mutating func insert() {
        let most = [1, 2, 20, 70, 1_000][self.random.below(5)]
        let count = min(self.random.below(most + 1), self.sizeMax - self.rows.count)
        guard count >= 0 else { return }
        let index = self.random.below(self.rows.count + 1)
        let new = self.newRows(count)
        self.tree.insert(new, at: index)
        self.rows.insert(contentsOf: new, at: index)
    }

    /// Returns one row, a sub-tree, or any range.
    private mutating func range() -> Range<Int> {
        let index = self.random.below(self.rows.count + 1)
        let kind = index < self.rows.count ? self.random.below(4) : 3
        switch kind {
        case 0: return index..<index + 1
        case 1, 2: return index..<self.end(of: index)
        default: return index..<index + self.random.below(self.rows.count - index + 1)
        }
    }

    private mutating func cut() {
        let range = self.range()
        self.pieces.append((self.tree.cut(range), Array(self.rows[range])))
        self.rows.removeSubrange(range)
    }

    private mutating func hang() {
        guard !self.pieces.isEmpty else { return }
        var (piece, rows) = self.pieces.remove(at: self.random.below(self.pieces.count))
        let index = self.random.below(self.rows.count + 1)
        let first = rows.first?.depth ?? 0
        let least = rows.map(\.depth).min() ?? 0
        let depth = first - least + self.random.below(self.random.oneIn(5) ? 1_000_000 : 6)
        self.tree.hang(piece, at: index, depth: depth)
        let added = depth - first
        for row in rows.indices { rows[row].depth += added }
        self.rows.insert(contentsOf: rows, at: index)
    }

    private mutating func discard() {
        guard !self.pieces.isEmpty else { return }
        let (piece, rows) = self.pieces.remove(at: self.random.below(self.pieces.count))
        self.tree.discard(piece)
        for row in rows.prefix(5) {
            self.expect(!self.tree.contains(row.id) && self.tree.state(of: row.id) == nil, "\(row.id) is discarded")
            self.expect(!piece.contains(row.id), "\(row.id) is in a discarded piece")
        }
    }

    private mutating func setState() {
        let id = ObjectID(Int64(self.random.below(Int(self.lastID) + 2)))
        let childCount: Int? = self.random.oneIn(2) ? self.random.below(1_000) : nil
        let isExpanded: Bool? = self.random.oneIn(2) ? self.random.oneIn(2) : nil
        if let childCount { self.tree.setChildCount(childCount, of: id) }
        if let isExpanded { self.tree.setExpanded(isExpanded, of: id) }
        func set(_ rows: inout [Entry]) {
            guard let index = rows.firstIndex(where: { $0.id == id }) else { return }
            if let childCount { rows[index].childCount = childCount }
            if let isExpanded { rows[index].isExpanded = isExpanded }
        }
        set(&self.rows)
        for index in self.pieces.indices { set(&self.pieces[index].rows) }
    }
}

/// The reads, by the definitions.
extension FlatWorld {
    private func end(of index: Int) -> Int {
        let depth = self.rows[index].depth
        return self.rows[(index + 1)...].firstIndex { $0.depth <= depth } ?? self.rows.count
    }

    private func parent(of index: Int) -> Int? {
        let depth = self.rows[index].depth
        return self.rows[..<index].lastIndex { $0.depth < depth }
    }

    private func digest(of range: Range<Int>) -> ResultsDigest {
        var digest = ResultsDigest.empty
        let hash = ResultsDigest.sectionHash(.string(""))
        for row in self.rows[range] { digest.append(sectionHash: hash, object: row.id) }
        return digest
    }

    private mutating func expect(_ isRight: Bool, _ what: @autoclosure () -> String) {
        if !isRight { self.violations.append(what()) }
    }

    /// Compares all rows, and the other reads at a few random places.
    private mutating func check() {
        self.tree.validate()
        self.expect(self.tree.count == self.rows.count, "count")
        var all: [Entry] = []
        self.tree.forEach(in: 0..<self.tree.count) { all.append($0) }
        self.expect(all == self.rows, "the rows")
        for _ in 0..<4 where !self.rows.isEmpty { self.checkRow(self.random.below(self.rows.count)) }
        for _ in 0..<2 {
            let range = self.range()
            self.expect(self.tree.digest(of: range) == self.digest(of: range), "digest of \(range)")
            var part: [Entry] = []
            self.tree.forEach(in: range) { part.append($0) }
            self.expect(part == Array(self.rows[range]), "rows \(range)")
        }
        let unknown = ObjectID(self.lastID + 1)
        self.expect(!self.tree.contains(unknown) && self.tree.index(of: unknown) == nil, "an unknown id")
        for index in self.pieces.indices { self.checkPiece(index) }
    }

    private mutating func checkRow(_ index: Int) {
        let row = self.rows[index]
        self.expect(self.tree.contains(row.id), "contains \(row.id)")
        self.expect(self.tree.index(of: row.id) == index, "index of \(row.id)")
        self.expect(self.tree.entry(of: row.id) == row && self.tree.entry(at: index) == row, "row \(index)")
        self.expect(self.tree.end(ofSubtreeAt: index) == self.end(of: index), "end of the sub-tree at \(index)")
        self.expect(self.tree.parentIndex(ofRowAt: index) == self.parent(of: index), "parent of row \(index)")
        var above: Int? = index
        while let row = above {
            let depth = self.tree.entry(at: row).depth
            self.expect(self.tree.index(ofDepth: depth, above: index) == row, "row above \(index) of depth \(depth)")
            above = self.parent(of: row)
        }
        for (piece, _) in self.pieces { self.expect(!piece.contains(row.id), "\(row.id) is in a piece") }
    }

    private mutating func checkPiece(_ index: Int) {
        let (piece, rows) = self.pieces[index]
        self.tree.validate(piece)
        self.expect(piece.count == rows.count, "count of a piece")
        guard !rows.isEmpty else { return }
        var all: [Entry] = []
        self.tree.forEach(in: piece) { entry in
            var entry = entry
            entry.depth += rows[0].depth
            all.append(entry)
        }
        self.expect(all == rows, "rows of a piece")
        let row = self.random.pick(rows)
        self.expect(!self.tree.contains(row.id) && self.tree.index(of: row.id) == nil, "\(row.id) is cut")
        self.expect(self.tree.entry(of: row.id) == nil && piece.contains(row.id), "\(row.id) is in its piece")
        let state = self.tree.state(of: row.id)
        self.expect(state?.childCount == row.childCount && state?.isExpanded == row.isExpanded, "state of \(row.id)")
    }
}
