import NestLiveQuery
import NestModel
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

/// Tests differences over random histories of rows in sections, sorted by values. A difference turns every earlier
/// state into the newest, with the fewest moves that the rule allows.
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

        /// Makes one revision that changes a few rows.
        mutating func step() {
            self.revision = self.revision.next
            var changes: [RowChange] = []
            var ids = self.items.keys.sorted().shuffled(using: &self.random)
            for _ in 0...self.random.below(4) {
                let id = self.random.oneIn(4) ? nil : ids.popLast()
                let after = id == nil || !self.random.oneIn(3) ? self.edited(id.map { self.items[$0]! }) : nil
                let object = ChangedRow(
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

    @Test func differenceTurnsEveryEarlierStateIntoTheNewest() throws {
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
                #expect(back.digest == tree.digest && back.sectionCount == old.sections.count, "\(what): wrong state")
                let net = difference(from: back, to: history.result.tree, touching: changes.values)
                let diff = Self.diff(net, from: old, to: newest)
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

    /// From any window of every earlier state to any window of the newest, mostly one close to it.
    @Test func differenceTurnsAnyWindowIntoAnyOther() throws {
        var (moves, sections, ends) = (0, 0, 0)
        for seed in 2_000..<2_700 as Range<UInt64> {
            var history = History(seed: seed)
            var states: [SectionedSnapshot] = []
            for _ in 0...history.random.below(6) {
                states.append(history.snapshot)
                history.step()
            }
            let newest = history.snapshot
            for whole in states {
                let (back, changes) = history.result.state(at: whole.revision)
                let delta = ResultDelta(from: back, to: history.result.tree, touching: Array(changes.values))
                for _ in 0..<4 {
                    let oldRange = history.random.range(of: back.count)
                    let newRange = history.random.range(of: newest.total, near: oldRange)
                    let what = "seed \(seed) from \(whole.revision), \(oldRange) to \(newRange)"
                    let (old, new) = (whole.window(oldRange), newest.window(newRange))
                    let net = delta.difference(oldRange, newRange)
                    let diff = Self.diff(net, from: old, to: new)
                    #expect(NaiveDiff.apply(diff, to: old) == new, "\(what): \(diff)")
                    var state = old
                    try state.apply(diff)
                    #expect(state == new, "\(what)")
                    #expect(
                        state.digest == history.result.tree.digest(of: newRange).value,
                        "\(what): wrong digest of a window"
                    )
                    Self.expectFew(diff, from: old, to: new, changes, what)
                    Self.expectReasons(diff, newest, changes, what)
                    moves += diff.moves.count
                    sections += diff.deletedSections.count + diff.insertedSections.count
                    ends += diff.deletedRows.count { $0.reason == .outOfWindow }
                }
            }
        }
        #expect(moves > 300 && sections > 1_000 && ends > 1_000, "\(moves) moves, \(sections) sections, \(ends) ends")
    }

    /// From a window of one result to a window of another that has other rows in the same order.
    @Test func differenceTurnsAWindowOfOneResultIntoAWindowOfAnother() throws {
        var (left, kept) = (0, 0)
        for seed in 5_000..<6_500 as Range<UInt64> {
            var history = History(seed: seed)
            let all = history.items
            func some() -> (whole: SectionedSnapshot, tree: OrderStatisticTree) {
                let items = all.filter { _ in history.random.below(4) > 0 }
                let keys = items.map { history.world.key($0.value, $0.key) }.sorted()
                let result = LiveResult(
                    source: history.world.source,
                    sorted: ResultRows(keys: keys),
                    revision: history.revision
                )
                let sections = history.world.sections(items.map { ($0, $1) })
                return (
                    SectionedSnapshot(revision: history.revision, projection: [], sections: sections), result.tree
                )
            }
            let (from, to) = (some(), some())
            for _ in 0..<4 {
                let oldRange = history.random.range(of: from.tree.count)
                let newRange = history.random.range(of: to.tree.count, near: oldRange)
                let what = "seed \(seed), \(oldRange) to \(newRange)"
                let (old, new) = (from.whole.window(oldRange), to.whole.window(newRange))
                let net = StructuralDifference(from: from.tree, oldRange, to: to.tree, newRange)
                let diff = Self.diff(net, from: old, to: new)
                #expect(NaiveDiff.apply(diff, to: old) == new, "\(what): \(diff)")
                var state = old
                try state.apply(diff)
                #expect(state == new, "\(what)")
                #expect(diff.moves.isEmpty, "\(what): a row moved")
                Self.expectFew(diff, from: old, to: new, [:], what)
                let there = Set(to.whole.sections.flatMap { $0.rows.map(\.id) })
                let stay = Set(new.sections.flatMap { $0.rows.map(\.id) })
                for row in diff.deletedRows {
                    let reason: LeaveReason = there.contains(row.id) ? .outOfWindow : .unmatched
                    #expect(row.reason == reason && !stay.contains(row.id), "\(what): \(row)")
                }
                left += diff.deletedRows.count
                kept += new.total - diff.insertedRows.count
            }
        }
        #expect(left > 3_000 && kept > 2_000, "\(left) rows left, \(kept) stayed")
    }

    private static func expectReasons(
        _ diff: ResultsDiff,
        _ newest: SectionedSnapshot,
        _ changes: [ObjectID: RowChange],
        _ what: String
    ) {
        let there = Set(newest.sections.flatMap { $0.rows.map(\.id) })
        for row in diff.deletedRows {
            let isDeleted = changes[row.id]?.isDeleted ?? false
            let reason: LeaveReason = there.contains(row.id) ? .outOfWindow : isDeleted ? .deleted : .unmatched
            #expect(row.reason == reason, "\(what): \(row)")
        }
    }

    private static func diff(
        _ net: StructuralDifference,
        from old: SectionedSnapshot,
        to new: SectionedSnapshot
    ) -> ResultsDiff {
        var diff = ResultsDiff(from: old.revision, to: new.revision, total: new.total, digest: new.digest)
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
        #expect(diff.moves.allSatisfy { placed.contains(old[$0.from].id) }, "\(what): an unchanged row moved")
        let structural =
            diff.moves.map { old[$0.from].id } + diff.deletedRows.map(\.id) + diff.insertedRows.map(\.row.id)
        #expect(Set(structural).count == structural.count, "\(what): a row has two structural events")
        let (before, after) = (NaiveMoves.rows(old.sections), NaiveMoves.rows(new.sections))
        guard let fewest = NaiveMoves.fewest(from: before, to: after, placed: placed) else { return }
        #expect(diff.moves.count == fewest, "\(what): \(diff.moves.count) moves, \(fewest) are enough")
    }
}

extension SeededRandom {
    fileprivate mutating func range(of count: Int) -> Range<Int> {
        let first = self.below(count + 1)
        return first..<first + self.below(count - first + 1)
    }

    /// Returns mostly a range close to the other.
    fileprivate mutating func range(of count: Int, near other: Range<Int>) -> Range<Int> {
        guard self.below(3) > 0 else { return self.range(of: count) }
        let first = min(max(other.lowerBound + self.below(5) - 2, 0), count)
        return first..<min(max(other.upperBound + self.below(5) - 2, first), count)
    }
}

extension SectionedSnapshot {
    /// Returns the part of the snapshot that a window shows.
    fileprivate func window(_ range: Range<Int>) -> SectionedSnapshot {
        var window = self
        window.sections = []
        var index = 0
        for section in self.sections {
            for row in section.rows {
                defer { index += 1 }
                guard range.contains(index) else { continue }
                if window.sections.last?.key != section.key {
                    window.sections.append(ResultsSection(key: section.key, rows: []))
                }
                window.sections[window.sections.count - 1].rows.append(row)
            }
        }
        return window
    }
}
