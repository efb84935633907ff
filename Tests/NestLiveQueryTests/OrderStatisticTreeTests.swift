import NestLiveQuery
import NestModel
import NestOrder
import NestTestSupport
import Testing
import NestSchema

@Suite struct OrderStatisticTreeTests {
    /// `texts`: the percentage of keys that are texts, most of which do not fit into the first eight bytes.
    private static func key(_ random: inout SeededRandom, _ universe: Int, texts: Int) -> RowKey {
        let id = ObjectID(Int64(random.below(8) + 1))
        let number = random.below(universe)
        guard random.below(100) < texts else { return RowKey(position: Int64(number) - Int64(universe / 2), id: id) }
        var writer = SortKeyWriter()
        let text = ["", "long before it ", "so long before it that it is in the rest "][number % 3] + "\(number)"
        writer.write(.string(text), OrderTerm(.text, isAscending: number % 2 == 0))
        return RowKey(writer.take(), id: id)
    }

    @Test func keysWithoutATailTakeNoMoreMemoryThanPositions() {
        func byteCount(_ text: String) -> Int {
            var writer = SortKeyWriter()
            writer.write(.string(text), OrderTerm(.text))
            return OrderStatisticTree(sorted: [RowKey(writer.take(), id: ObjectID(1))]).byteCount
        }
        let position = OrderStatisticTree(sorted: [RowKey(position: 0, id: ObjectID(1))]).byteCount
        #expect(byteCount("seven b") == position)
        #expect(byteCount("eight or more") > position)
    }

    /// After any history of insertions and removals the tree equals the sorted array of the same keys: order, index of
    /// each key, key at each index, and digest. Copies made in between do not change.
    @Test func treeEqualsTheSortedArrayOfItsKeys() {
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let universe = [20, 300, 20_000][random.below(3)]
            let texts = [0, 2, 100][random.below(3)]
            var tree = OrderStatisticTree()
            var naive: Set<RowKey> = []
            var held: [(tree: OrderStatisticTree, keys: [RowKey])] = []
            // The phases alternate between mostly growing and mostly shrinking.
            for step in 0..<1_200 {
                let key = Self.key(&random, universe, texts: texts)
                let grows = (step / 300) % 2 == 0
                if random.oneIn(4) != grows {
                    let isNew = tree.insert(key)
                    #expect(isNew == naive.insert(key).inserted, "seed \(seed)")
                } else {
                    let victim = naive.isEmpty || random.oneIn(5) ? key : naive.randomElement(using: &random)!
                    let wasThere = tree.remove(victim)
                    #expect(wasThere == (naive.remove(victim) != nil), "seed \(seed)")
                }
                if random.oneIn(150) { held.append((tree, naive.sorted())) }
            }
            held.append((tree, naive.sorted()))
            for (tree, keys) in held { Self.compare(tree, keys, "seed \(seed)") }
            for key in naive.sorted() {
                let wasThere = tree.remove(key)
                #expect(wasThere, "seed \(seed)")
            }
            Self.compare(tree, [], "seed \(seed), emptied")
        }
    }

    @Test func loadsFromSortedKeysOfEverySize() {
        for count in Array(0...200) + [1_000, 3_000, 100_000] {
            let keys = (0..<count).map { RowKey(position: Int64($0) * 10, id: ObjectID(Int64($0 + 1))) }
            var tree = OrderStatisticTree(sorted: keys)
            if count <= 3_000 { Self.compare(tree, keys, "\(count) keys") }
            tree.validate()
            tree.insert(RowKey(position: 5, id: ObjectID(9)))
            tree.validate()
            #expect(tree.count == count + 1)
        }
    }

    private static func compare(_ tree: OrderStatisticTree, _ keys: [RowKey], _ what: String) {
        tree.validate()
        var inOrder: [RowKey] = []
        tree.forEach { inOrder.append($0) }
        #expect(inOrder == keys, "\(what)")
        #expect(tree.count == keys.count, "\(what)")
        var digest = ResultsDigest.empty
        for key in keys { digest.append(sectionHash: ResultsDigest.sectionHash(.string("")), object: key.id) }
        #expect(tree.digest == digest, "\(what)")
        for (index, key) in keys.enumerated() {
            #expect(tree.index(of: key) == index && tree.key(at: index) == key && tree.contains(key), "\(what)")
        }
    }

    /// The subsequence is increasing, and no longer one exists (checked by trying all subsets).
    @Test func longestIncreasingSubsequenceIsLongest() {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let values = (0..<random.below(10)).map { _ in random.below(12) }
            let found = longestIncreasingSubsequence(values)
            let picked = found.map { values[$0] }
            #expect(zip(picked, picked.dropFirst()).allSatisfy { $0 < $1 } && found == found.sorted(), "seed \(seed)")
            var best = 0
            for mask in 0..<(1 << values.count) {
                let subset = values.indices.filter { mask >> $0 & 1 == 1 }.map { values[$0] }
                if zip(subset, subset.dropFirst()).allSatisfy({ $0 < $1 }) { best = max(best, subset.count) }
            }
            #expect(found.count == best, "seed \(seed)")
        }
    }
}
