import NestModel
import NestOrder
import NestSchema
import NestStore
import NestTestSupport
import NestLiveQuery
import Testing

@testable import NestEngine

/// What a batch keeps of its changes equals what a dictionary would keep.
@Suite struct BatchChangesTests {
    /// Histories of revisions with new objects, whose ids ascend, and changed or deleted old ones.
    @Test func knownRowsAreThoseOfADictionary() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var known = KnownRows()
            var oracle: [ObjectID: ObjectRow?] = [:]
            var newest: Int64 = 0
            let insertsOnly = random.oneIn(3)
            for revision in 1...UInt64(1 + random.below(12)) {
                var draft = ChangeSet.Draft(revision: Revision(revision))
                draft.blockCount = random.oneIn(12) ? 1 : 0
                if draft.blockCount > 0 { oracle = [:] }
                var ids: Set<Int64> = []
                for _ in 0..<random.below(8) {
                    if insertsOnly || newest == 0 || random.oneIn(2) {
                        newest += 1
                        ids.insert(newest)
                    } else {
                        ids.insert(Int64(1 + random.below(Int(newest))))
                    }
                }
                for id in insertsOnly ? ids.sorted() : ids.shuffled(using: &random) {
                    let row = ObjectRow(
                        entity: EntityNumber(1),
                        revision: draft.revision,
                        values: [.integer(id)],
                        places: SparsePlaces(count: 0)
                    )
                    let after = random.oneIn(4) ? nil : row
                    draft.changedRows.append(
                        ChangedRow(entity: EntityNumber(1), id: ObjectID(id), before: nil, after: after)
                    )
                    oracle[ObjectID(id)] = .some(after)
                }
                known.take(ChangeSet(draft))
                #expect(known.isOfSeveralRevisions == (revision > 1), "seed \(seed)")
                for id in 0...newest + 1 {
                    let id = ObjectID(id)
                    #expect(known[id] == oracle[id] ?? nil, "seed \(seed), revision \(revision), \(id)")
                    #expect(
                        known.exists(id) == oracle[id].map { $0 != nil },
                        "seed \(seed), revision \(revision), \(id)"
                    )
                }
            }
        }
    }

    /// The net change of each row is from its first state to its last. A row that comes and goes has none.
    @Test func mergedChangesAreFromTheFirstStateToTheLast() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var state: [ObjectID: RowKey] = [:]
            var changes: [RowChange] = []
            var firsts: [ObjectID: RowKey?] = [:]
            var order: [ObjectID] = []
            for _ in 0..<random.below(24) {
                let id = ObjectID(Int64(1 + random.below(random.oneIn(2) ? 6 : 1_000)))
                let before = state[id]
                let after = before != nil && random.oneIn(2) ? nil : RowKey(position: Int64(random.below(50)), id: id)
                if firsts[id] == nil {
                    firsts[id] = .some(before)
                    order.append(id)
                }
                changes.append(RowChange(id: id, before: before, after: after, isPlaced: true))
                state[id] = after
            }
            if random.oneIn(3) {
                // New rows only.
                changes = order.sorted().map {
                    RowChange(id: $0, before: nil, after: RowKey(position: 1, id: $0), isPlaced: true)
                }
                order = changes.map(\.id)
                state = Dictionary(uniqueKeysWithValues: changes.map { ($0.id, $0.after!) })
                firsts = Dictionary(uniqueKeysWithValues: order.map { ($0, RowKey?.none) })
            }
            let wanted = order.filter { (firsts[$0] ?? nil) != nil || state[$0] != nil }
            let merged = changes.merged()
            #expect(merged.map(\.id) == wanted, "seed \(seed)")
            for change in merged {
                #expect(change.before == firsts[change.id] ?? nil, "seed \(seed), \(change.id)")
                #expect(change.after == state[change.id], "seed \(seed), \(change.id)")
            }
        }
    }
}
