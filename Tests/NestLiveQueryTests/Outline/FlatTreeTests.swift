import NestLiveQuery
import NestModel
import NestTestSupport
import Testing

@Suite struct FlatTreeTests {
    /// After any history of insertions, cuts, hangs, discards and changed states, the tree and its pieces equal arrays
    /// with the same rows.
    @Test(arguments: [(0, 40), (100, 300), (3_000, 4_000)])
    func treeEqualsTheArrayOfItsRows(count: Int, sizeMax: Int) {
        let usual: Range<UInt64> = sizeMax > 1_000 ? 0..<4 : 0..<40
        for seed in Seeds.range(usual) {
            var world = FlatWorld(seed: seed, count: count, sizeMax: sizeMax)
            for step in 0..<Seeds.steps(sizeMax > 1_000 ? 60 : 200) {
                world.step()
                guard world.violations.isEmpty else {
                    Issue.record("seed \(seed), at most \(sizeMax) rows, step \(step): \(world.violations)")
                    break
                }
            }
        }
    }

    @Test func loadsRowsOfEveryNumber() {
        for count in Array(0...200) + [1_000, 3_000, 100_000] {
            let rows = FlatShape.comb(count)
            let tree = FlatTree(rows)
            tree.validate()
            var all: [FlatTree.Entry] = []
            tree.forEach(in: 0..<tree.count) { all.append($0) }
            #expect(all == rows, "\(count) rows")
        }
    }

    /// A piece keeps the states that are set while it is cut, and its rows move by the same depth.
    @Test func hungSubtreeHasItsNewDepthAndStates() {
        let tree = FlatTree(
            [(1, 0), (2, 1), (3, 2), (4, 1), (5, 0)].map {
                FlatTree.Entry(id: ObjectID($0), depth: $1, childCount: 1, isExpanded: true)
            }
        )
        let inner = tree.cut(2..<3)
        let outer = tree.cut(1..<2)
        tree.setChildCount(7, of: ObjectID(2))
        tree.setExpanded(false, of: ObjectID(3))
        tree.hang(outer, at: 3, depth: 1)
        tree.hang(inner, at: 0, depth: 0)
        var rows: [String] = []
        tree.forEach(in: 0..<tree.count) { rows.append("\($0.id) \($0.depth) \($0.childCount) \($0.isExpanded)") }
        #expect(rows == ["3 0 1 false", "1 0 1 true", "4 1 1 true", "5 0 1 true", "2 1 7 true"])
        #expect(tree.state(of: ObjectID(9)) == nil)
        tree.validate()
    }

    /// The map of ids shrinks when most rows are discarded.
    @Test func discardingReturnsMemory() {
        let tree = FlatTree(FlatShape.comb(20_000))
        let full = tree.byteCount
        #expect((50...90).contains(full / 20_000), "\(full) bytes")
        tree.discard(tree.cut(10..<20_000))
        tree.validate()
        #expect(tree.byteCount < full / 100 && tree.count == 10)
    }
}
