import NestModel
import NestTestSupport
import Testing

@testable import NestClient

/// Elements that follow diffs, compared with all elements made anew.
@Suite struct ElementListTests {
    private struct Element: Equatable {
        var row: Row
    }

    @Test func elementsAreThoseOfTheNewState() throws {
        var count = (made: 0, rows: 0)
        for seed in Seeds.range(0..<400) {
            var random = SeededRandom(seed: seed)
            let sections = random.oneIn(4) ? 1 : 2 + random.below(5)
            let rows = random.oneIn(8) ? 60 : 1 + random.below(12)
            var state = random.snapshot(rows: rows, sections: sections, revision: Revision(1))
            var lists = ElementLists<Element>()
            lists.replace(with: state) { Element(row: $0) }
            for step in 0..<20 {
                let old = state
                state = random.edited(old, edits: 1 + random.below(6), rows: rows, sections: sections)
                if old.total == 0, state.total == 0 { state.sections = old.sections }
                let diff = NaiveDiff.difference(from: old, to: state)
                lists.apply(diff, state) { row in
                    count.made += 1
                    return Element(row: row)
                }
                count.rows += state.total
                let expected = state.sections.map { $0.rows.map { Element(row: $0) } }
                #expect(lists.sections == expected, "seed \(seed), step \(step)")
                guard lists.sections == expected else { return }
            }
        }
        // Only the elements of new and updated rows are made.
        #expect(count.made > 1_000 && count.made < count.rows / 2, "\(count)")
    }

    @Test func rowsAreACollectionOverAllSections() {
        for seed in Seeds.range(0..<200) {
            var random = SeededRandom(seed: seed)
            let state = random.snapshot(rows: random.below(12), sections: 1 + random.below(5), revision: Revision(3))
            let rows = FetchedRows(state, state.sections.map(\.rows))
            let all = state.sections.flatMap(\.rows)
            #expect(Array(rows) == all && rows.count == all.count && rows.total == all.count, "seed \(seed)")
            #expect(rows.indices.map { rows[$0] } == all, "seed \(seed)")
            #expect(rows.revision == Revision(3) && rows.sections.map(\.key) == state.sections.map(\.key))
            #expect(rows.first == all.first && rows.last == all.last, "seed \(seed)")
        }
        #expect(FetchedRows<Row>().isEmpty && FetchedRows<Row>().total == 0)
    }
}
