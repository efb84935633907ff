import NestModel
import NestTestSupport
import Testing

@testable import nestc

/// The order in which a search reads a list.
@Suite struct RowSearchTests {
    /// Every row is read once, beginning with the first one, in the direction of the search.
    @Test func everyRowIsReadOnce() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let total = random.below(4 * RowSearch.pieceMax)
            let start = random.below(total + 1)
            for direction in [RowSearch.Direction.forward, .backward] {
                let pieces = RowSearch(text: "x", direction: direction, start: start).pieces(total: total)
                #expect(pieces.allSatisfy { $0.rows.count <= RowSearch.pieceMax }, "seed \(seed)")
                let numbers = pieces.flatMap { direction == .forward ? Array($0.rows) : $0.rows.reversed() }
                #expect(numbers.sorted() == Array(0..<total), "seed \(seed)")
                guard total > 0 else { continue }
                let first = min(start, total - 1)
                let step = direction == .forward ? 1 : -1
                #expect(numbers == (0..<total).map { (first + step * $0 + total) % total }, "seed \(seed)")
            }
        }
    }

    @Test func textIsFoundWhateverItsCaseAndForm() {
        #expect(RowSearch.contains("item 55", "55") && !RowSearch.contains("item 55", "56"))
        #expect(RowSearch.contains("un e\u{301}te\u{301}", "été") && RowSearch.contains("日本語", "本"))
        let rows = (1...3).map { Row(id: ObjectID($0), values: []) }
        let texts = ["ÉTÉ", "Item", "item"]
        func hit(_ text: String, _ direction: RowSearch.Direction) -> Int? {
            RowSearch(text: text, direction: direction, start: 0).hit(rows) { [texts[Int($0.id.rawValue) - 1]] }
        }
        #expect(hit("été", .forward) == 0 && hit("ITEM", .forward) == 1 && hit("item", .backward) == 2)
        #expect(hit("nothing", .forward) == nil)
    }
}
