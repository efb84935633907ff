import Foundation
import Testing

@Suite struct ResultsSimulationTests {
    /// To replay a failure, set `NEST_RESULTS_SEED` and `NEST_STEPS` in the environment. For a long run set
    /// `NEST_RESULTS_FIRST` and `NEST_RESULTS_COUNT`.
    @Test func everyClientHoldsTheRowsOfANaiveSearch() throws {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["NEST_RESULTS_SEED"].flatMap({ UInt64($0) }) {
            let steps = environment["NEST_STEPS"].flatMap { Int($0) } ?? 100
            return try ResultsSimulation(seed: seed).run(steps: steps)
        }
        let first = environment["NEST_RESULTS_FIRST"].flatMap { UInt64($0) } ?? 0
        let count = environment["NEST_RESULTS_COUNT"].flatMap { UInt64($0) } ?? 80
        var (done, compared, diffs, moves, sectionChanges) = (0, 0, 0, 0, 0)
        var counts: [String: Int] = [:]
        var changeParts = 0
        var resumedInside = 0
        for seed in first..<(first + count) {
            let simulation = try ResultsSimulation(seed: seed)
            do { try simulation.run(steps: 100) } catch { Issue.record("\(simulation.what): \(error)") }
            done += simulation.done
            compared += simulation.compared
            diffs += simulation.diffs
            moves += simulation.moves
            sectionChanges += simulation.sectionChanges
            counts.merge(simulation.counts) { $0 + $1 }
            changeParts += simulation.followers.all.reduce(0) { $0 + $1.parts }
            resumedInside += simulation.followers.all.reduce(0) { $0 + $1.resumedInside }
        }
        // Makes sure that the histories cover these cases.
        let reached = "\(done) writes, \(compared) states, \(diffs) diffs, \(moves) moves, \(sectionChanges) sections"
        #expect(done > 1_800 && diffs > 1_500 && moves > 150 && sectionChanges > 100, "\(reached)")
        #expect(changeParts > 3_000 && resumedInside > 2, "\(changeParts) parts, \(resumedInside) resumed inside")
        let features = [
            "everything", "owned", "paired", "owned in order", "paired in order", "of a kind", "paired filtered",
            "order of a list",
            "own", "to one", "any", "all", "none", "count", "any of counts", "all of counts", "none of counts",
            "function", "@sum", "@min", "@max", "@avg", "subquery", "subquery in subquery", "any in subquery",
            "subquery of pairs",
            "subtree", "folded comparison", "own sort", "related sort",
            "sort by count", "sort by aggregate", "sum", "minimum", "maximum", "average", "maximum of pairs",
            "folded sort", "several keys", "columns", "sections by value",
            "sections by firstCharacter",
            "sections by year", "sections by month", "sections by day",
            "total count", "total sum", "total minimum", "total maximum", "total average",
            "total count of sections", "total sum of sections", "total minimum of sections",
            "total maximum of sections", "total average of sections",
        ]
        for feature in features {
            #expect(counts[feature, default: 0] > 1, "\(feature): \(counts)")
        }
        let windows = [
            "range", "around", "owned, range", "owned, around", "paired, range", "paired, around",
            "related sort, range", "related sort, around", "sections by value, range",
            "sections by value, around", "sections by firstCharacter, range", "columns, around", "any, range",
            "refused change", "changed, difference", "changed, snapshot", "changed, current",
            "changed, already subscribed", "scroll, difference", "predicate, difference", "order, snapshot",
            "columns, snapshot", "backlog turns", "lagging", "positions", "waited for a turn",
            "background reads",
        ]
        for feature in windows {
            #expect(counts[feature, default: 0] > 3, "\(feature): \(counts)")
        }
    }
}
