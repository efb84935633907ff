import NestModel
import NestTestSupport
import Testing
import NestSchema

@testable import NestStore

/// Compares deletions in runs of ids with the whole store before and after.
@Suite struct CascadeRunsTests {
    /// In a tree with long and short runs, wide parents, long texts and scattered ids, a cascade deletes exactly the
    /// objects below its top. Each has the neighbours that it had, and an undo restores all of them.
    @Test func cascadesDeleteWholeTreesAndUndoRestoresThem() throws {
        var deleted = 0
        for seed in Seeds.range(0..<5) {
            var random = SeededRandom(seed: seed)
            let fixture = try Fixture(inMemory: true) { $0.streamedFrom = seed % 3 == 0 ? 40 : 100_000 }
            let (top, all) = try self.grow(fixture, &random)
            let before = try StoredState(fixture.store)
            let cascade = self.below(top, before)
            let changes = try #require(
                try fixture.commit { _ = try $0.perform(WriteTransaction(mutations: [.delete(.object(top))])) }
            )
            let after = try StoredState(fixture.store)
            #expect(Set(before.tables[0].keys).subtracting(after.tables[0].keys) == cascade, "seed \(seed)")
            let applied = try before.applying(changes, of: fixture.store)
            #expect(applied.faults.isEmpty && applied.state == after, "seed \(seed): \(applied.faults.prefix(3))")
            #expect(cascade.count < all, "seed \(seed)")
            deleted += cascade.count

            let neighbours = self.neighbours(before)
            // Objects in blocks have no neighbours in the change set.
            let wrong = changes.changedRows.filter { $0.neighbours != [neighbours[$0.id]] }.map(\.id)
            #expect(wrong.isEmpty, "seed \(seed)")
            let undo = try #require(try fixture.revert(changes.revision))
            let restored = try StoredState(fixture.store).graph
            #expect(restored == before.graph, "seed \(seed)")
            try fixture.revert(undo.revision)
            #expect(try Set(StoredState(fixture.store).tables[0].keys) == Set(after.tables[0].keys), "seed \(seed)")
        }
        if Seeds.isUsual { #expect(deleted > 3_000) }
    }

    /// Imports trees, and moves and deletes some objects. Returns the top of a part, and the number of all objects.
    private func grow(_ fixture: Fixture, _ random: inout SeededRandom) throws -> (top: ObjectID, count: Int) {
        let top = try fixture.perform(Fixture.insert("top"), Fixture.insert("other"))[0]
        var inside = [top]
        for _ in 0..<6 {
            var rows: [(depth: Int, title: String)] = []
            let kind = Int.random(in: 0..<4, using: &random)
            for index in 0..<Int.random(in: 2...400, using: &random) {
                let last = rows.last?.depth ?? -1
                let depth =
                    switch kind {
                    case 0: index
                    case 1: min(index, 1)
                    default: Int.random(in: 0...(last + 1), using: &random)
                    }
                // Some texts are so long that a few of them end reading ahead.
                let length = kind == 3 && index % 4 == 0 ? 60_000 : Int.random(in: 0..<12, using: &random)
                rows.append((depth, String(repeating: "x", count: length)))
            }
            if kind == 1 { rows += (0..<1_200).map { _ in (1, "leaf") } }
            let owner = inside.randomElement(using: &random)!
            var first = ObjectID(0)
            let staged = try fixture.stage(rows, under: owner)
            try fixture.commit { first = try $0.importSubtree(staged).first }
            inside += (0..<Int64(rows.count)).map { ObjectID(first.rawValue + $0) }
        }
        for _ in 0..<60 {
            let id = inside.randomElement(using: &random)!
            let owner = inside.randomElement(using: &random)!
            do {
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    inside.append(try fixture.perform(Fixture.insert("new", under: .object(owner), .first))[0])
                case 1 where id != top:
                    try fixture.perform(Fixture.move(id, under: owner, .first))
                case 2 where id != top:
                    try fixture.perform(Fixture.move(id, under: ObjectID(1)))
                default:
                    // Only objects with nothing below them, so that most objects stay.
                    if id != top, try fixture.children(id).isEmpty { try fixture.perform(.delete(.object(id))) }
                }
            } catch StoreError.refused {
                // The object was moved under itself, or no longer exists.
            }
        }
        return (top, try StoredState(fixture.store).tables[0].count)
    }

    private static let place = 0

    private func owner(_ row: ObjectRow, _ state: StoredState) -> ObjectID? {
        row.values[state.layout.entities[0].placedSlots[Self.place]].referenceValue
    }

    private func below(_ top: ObjectID, _ state: StoredState) -> Set<ObjectID> {
        let children = Dictionary(grouping: state.tables[0].keys) { self.owner(state.tables[0][$0]!, state) }
        var below: Set<ObjectID> = []
        var waiting = [top]
        while let next = waiting.popLast() {
            below.insert(next)
            waiting += children[next] ?? []
        }
        return below
    }

    private func neighbours(_ state: StoredState) -> [ObjectID: Neighbours] {
        var neighbours: [ObjectID: Neighbours] = [:]
        let siblings = Dictionary(grouping: state.tables[0]) { self.owner($0.value, state) }
        for (owner, rows) in siblings where owner != nil {
            let ids = rows.sorted { $0.value.places[0].position < $1.value.places[0].position }.map(\.key)
            for (index, id) in ids.enumerated() {
                neighbours[id] = Neighbours(
                    left: index > 0 ? ids[index - 1] : nil,
                    right: index + 1 < ids.count ? ids[index + 1] : nil
                )
            }
        }
        return neighbours
    }

    /// Which models allow deletions in runs.
    @Test func onlyPureTreesAreDeletedInRuns() throws {
        func trees(_ entities: EntityDraft...) throws -> [Bool] {
            ModelLayout(try ModelDraft(entities: entities).compile()).cascadesAsTree
        }
        #expect(ModelLayout(.nestedList).cascadesAsTree == [true])
        let owned = RelationshipDraft("b", .many, "B", inverse: "a", .cascade)
        let back = RelationshipDraft("a", .one, "A", inverse: "b")
        #expect(try trees(EntityDraft("A", [], [owned]), EntityDraft("B", [], [back])) == [true, true])
        for rule in [DeleteRule.nullify, .deny] {
            let kept = RelationshipDraft("b", .many, "B", inverse: "a", rule)
            #expect(try trees(EntityDraft("A", [], [kept]), EntityDraft("B", [], [back])) == [false, true])
        }
        // A to-one relationship that cascades; a one-to-one relationship; pairs.
        let follows = RelationshipDraft("a", .one, "A", inverse: "b", .cascade)
        #expect(try trees(EntityDraft("A", [], [owned]), EntityDraft("B", [], [follows])) == [false, false])
        let partner = RelationshipDraft("b", .one, "B", inverse: "a", .cascade)
        #expect(try trees(EntityDraft("A", [], [partner]), EntityDraft("B", [], [back])) == [false, false])
        let pairs = RelationshipDraft("a", .many, "A", inverse: "b")
        #expect(try trees(EntityDraft("A", [], [owned]), EntityDraft("B", [], [pairs])).prefix(2) == [false, false])
        // Two relationships to the same object.
        let second = RelationshipDraft("more", .many, "B", inverse: "other", .cascade)
        let other = RelationshipDraft("other", .one, "A", inverse: "more")
        #expect(
            try trees(EntityDraft("A", [], [owned, second]), EntityDraft("B", [], [back, other])) == [false, true]
        )
        // A cycle through another entity.
        let round = RelationshipDraft("c", .many, "A", inverse: "d", .cascade)
        let home = RelationshipDraft("d", .one, "B", inverse: "c")
        #expect(
            try trees(EntityDraft("A", [], [owned, home]), EntityDraft("B", [], [back, round])) == [false, false]
        )
    }
}
