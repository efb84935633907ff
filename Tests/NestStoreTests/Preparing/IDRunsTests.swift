import NestModel
import NestSchema
import NestTestSupport
import Testing

/// Runs of ids are the same as a set of ids.
@Suite struct IDRunsTests {
    @Test func runsAgreeWithASet() {
        for seed in Seeds.range(0..<200) {
            var random = SeededRandom(seed: seed)
            var runs = IDRuns()
            var ids: Set<Int64> = []
            var isFew = true
            for _ in 0..<(1 + random.below(300)) {
                let id = Int64(1 + random.below(200))
                guard ids.insert(id).inserted else { continue }
                isFew = runs.insert(ObjectID(id))
                // Like an import.
                for next in (id + 1)..<(id + 1 + Int64(random.below(9))) where ids.insert(next).inserted {
                    isFew = runs.insert(ObjectID(next))
                }
            }
            #expect(runs.runs.flatMap { Array($0) } == ids.sorted() && runs.count == ids.count, "seed \(seed)")
            #expect(zip(runs.runs, runs.runs.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
            #expect(isFew == (runs.runs.count <= IDRuns.countMax), "seed \(seed)")
            for id in Int64(0)...210 { #expect(runs.contains(ObjectID(id)) == ids.contains(id), "seed \(seed)") }
            while let last = runs.removeLast(1 + random.below(20)) {
                #expect(ids.max() == last.upperBound && last.allSatisfy { ids.remove($0) != nil }, "seed \(seed)")
            }
            #expect(ids.isEmpty && runs.count == 0, "seed \(seed)")
        }
    }
}
