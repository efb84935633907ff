import NestLiveQuery
import NestModel
import NestTestSupport
import Testing

/// The number of nodes that an operation uses does not depend on depth, and hardly on the number of rows.
@Suite struct FlatTreeCostTests {
    enum Shape: CaseIterable {
        case chain, list, comb

        func rows(_ count: Int) -> [FlatTree.Entry] {
            switch self {
            case .chain: FlatShape.chain(count)
            case .list: FlatShape.list(count)
            case .comb: FlatShape.comb(count)
            }
        }
    }

    /// Returns the most nodes that a read and that a change has used, in random operations.
    private static func most(_ tree: FlatTree, steps: Int) -> (reads: Int, changes: Int) {
        var random = SeededRandom(seed: 7)
        var reads = 0
        var changes = 0
        func visits(_ body: () -> Void) -> Int {
            let before = tree.visits
            body()
            return tree.visits - before
        }
        var id = Int64(2_000_000)
        for _ in 0..<steps {
            let index = random.below(tree.count)
            let row = tree.entry(at: index)
            let other = random.below(tree.count)
            let range = min(index, other)..<max(index, other)
            for read in [
                { _ = tree.index(of: row.id) }, { _ = tree.entry(of: row.id) }, { _ = tree.contains(row.id) },
                { _ = tree.entry(at: other) }, { _ = tree.end(ofSubtreeAt: index) },
                { _ = tree.parentIndex(ofRowAt: index) }, { _ = tree.digest(of: range) },
            ] { reads = max(reads, visits(read)) }
            let cut = random.oneIn(2) ? index..<tree.end(ofSubtreeAt: index) : range
            let place = random.below(tree.count - cut.count + 1)
            // No row gets a depth below 0.
            let depth = tree.entry(at: cut.isEmpty ? 0 : cut.lowerBound).depth + random.below(3)
            id += 1
            let new = FlatTree.Entry(id: ObjectID(id), depth: 0, childCount: 0, isExpanded: false)
            changes = max(changes, visits { tree.hang(tree.cut(cut), at: place, depth: depth) })
            changes = max(changes, visits { tree.insert([new], at: place) })
            // Not measured: forgetting takes as long as there are rows.
            let gone = tree.cut(place..<place + 1)
            tree.discard(gone)
        }
        return (reads, changes)
    }

    /// A B+ tree of a million rows has 5 levels; a move splits it twice or three times and joins it as often.
    @Test(arguments: Shape.allCases) func nodesUsedAreFewAtAMillionRows(_ shape: Shape) {
        let small = Self.most(FlatTree(shape.rows(1_000)), steps: 1_000)
        let tree = FlatTree(shape.rows(1_000_000))
        let large = Self.most(tree, steps: 1_000)
        tree.validate()
        #expect(tree.height <= 5)
        #expect(large.reads > small.reads && large.reads <= 24, "\(shape): \(small) then \(large)")
        #expect(large.changes > small.changes && large.changes <= 90, "\(shape): \(small) then \(large)")
        #expect(tree.byteCount <= 80_000_000, "\(tree.byteCount)")
    }

    /// One row at a time, at the end, at the start, and always between the same two rows.
    @Test func treeThatGrowsByRowsStaysLow() {
        for place in 0..<3 {
            let tree = FlatTree()
            for row in FlatShape.chain(8_000) {
                let index = place == 0 ? tree.count : place == 1 ? 0 : (tree.count + 1) / 2
                tree.insert([row], at: index)
            }
            tree.validate()
            #expect(tree.height == 2)
            while tree.count > 0 {
                let index = (tree.count - 1) / 2
                tree.discard(tree.cut(index..<index + 1))
            }
            tree.validate()
        }
    }
}
