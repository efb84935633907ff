import NestLiveQuery
import NestModel
import NestTestSupport
import Testing

/// The differ over random histories of rows sorted by values, in sections: what it says takes every earlier state to the
/// newest, with as few moves as the rule allows.
@Suite struct SectionedDifferenceTests {
    private struct History {
        var random: SeededRandom
        let world: SectionedWorld
        let result: LiveResult
        var items: [ObjectID: [AttributeValue]] = [:]
        var revision = Revision(1)
        private var nextID: Int64 = 1

        init(seed: UInt64) {
            self.random = SeededRandom(seed: seed)
            self.world = SectionedWorld(&self.random)
            for _ in 0..<self.random.below(14) {
                self.items[ObjectID(self.nextID)] = self.world.values(&self.random)
                self.nextID += 1
            }
            let keys = self.items.map { [world] in world.key($0.value, $0.key) }.sorted()
            self.result = LiveResult(source: self.world.source, sorted: ResultRows(keys: keys), revision: self.revision)
        }

        var snapshot: SectionedSnapshot {
            let sections = self.world.sections(self.items.map { ($0, $1) })
            return SectionedSnapshot(revision: self.revision, projection: [], sections: sections)
        }

        /// One revision that touches a few rows.
        mutating func step() {
            self.revision = self.revision.next
            var changes: [RowChange] = []
            var ids = self.items.keys.sorted().shuffled(using: &self.random)
            for _ in 0...self.random.below(4) {
                let id = self.random.oneIn(4) ? nil : ids.popLast()
                let after = id == nil || !self.random.oneIn(3) ? self.edited(id.map { self.items[$0]! }) : nil
                let object = TouchedObject(
                    entity: EntityNumber(1),
                    id: id ?? ObjectID(self.nextID),
                    before: id.map { self.world.row(self.items[$0]!) },
                    after: after.map { self.world.row($0) }
                )
                if id == nil { self.nextID += 1 }
                self.items[object.id] = after
                if let change = self.world.source.rowChange(object) { changes.append(change) }
            }
            self.result.apply(changes, at: self.revision)
        }

        private mutating func edited(_ old: [AttributeValue]?) -> [AttributeValue] {
            var values = self.world.values(&self.random)
            guard let old else { return values }
            for index in values.indices where self.random.oneIn(2) { values[index] = old[index] }
            return values
        }
    }

    @Test func takesEveryEarlierStateToTheNewest() throws {
        var (moves, sections) = (0, 0)
        for seed in 0..<1_000 as Range<UInt64> {
            var history = History(seed: seed)
            var states: [(snapshot: SectionedSnapshot, tree: OrderStatisticTree)] = []
            for _ in 0...history.random.below(8) {
                states.append((history.snapshot, history.result.tree))
                history.step()
            }
            let newest = history.snapshot
            for (old, tree) in states {
                let what = "seed \(seed) from \(old.revision)"
                let (back, changes) = history.result.state(at: old.revision)
                #expect(back.digest == tree.digest && back.sectionCount == old.sections.count, "\(what): taken back")
                let net = difference(from: back, to: history.result.tree, touching: changes.values)
                let diff = Self.diff(net, from: old, to: newest, history.result.tree)
                #expect(NaiveDiff.apply(diff, to: old) == newest, "\(what): \(diff)")
                var state = old
                try state.apply(diff)
                #expect(state == newest, "\(what)")
                Self.expectFew(diff, from: old, to: newest, changes, what)
                moves += diff.moves.count
                sections += diff.deletedSections.count + diff.insertedSections.count
            }
        }
        #expect(moves > 1_000 && sections > 1_000, "\(moves) moves, \(sections) sections")
    }

    private static func diff(
        _ net: StructuralDifference,
        from old: SectionedSnapshot,
        to new: SectionedSnapshot,
        _ tree: OrderStatisticTree
    ) -> ResultsDiff {
        var diff = ResultsDiff(from: old.revision, to: new.revision, total: tree.count, digest: tree.digest.value)
        diff.deletedRows = net.deletedRows
        diff.deletedSections = net.deletedSections
        diff.insertedSections = net.insertedSections
        diff.moves = net.moves
        diff.insertedRows = net.insertedRows.map { .init(path: $0.path, row: Row(id: $0.id, values: [])) }
        return diff
    }

    private static func expectFew(
        _ diff: ResultsDiff,
        from old: SectionedSnapshot,
        to new: SectionedSnapshot,
        _ changes: [ObjectID: RowChange],
        _ what: String
    ) {
        let placed = Set(changes.values.filter(\.isPlaced).map(\.id))
        #expect(diff.moves.allSatisfy { placed.contains(old[$0.from].id) }, "\(what): an untouched row moves")
        let structural =
            diff.moves.map { old[$0.from].id } + diff.deletedRows.map(\.id) + diff.insertedRows.map(\.row.id)
        #expect(Set(structural).count == structural.count, "\(what): two structural events of a row")
        let (before, after) = (NaiveMoves.rows(old.sections), NaiveMoves.rows(new.sections))
        guard let fewest = NaiveMoves.fewest(from: before, to: after, placed: placed) else { return }
        #expect(diff.moves.count == fewest, "\(what): \(diff.moves.count) moves, \(fewest) would do")
    }
}
