import NestModel
import NestTestSupport
import Testing

@testable import NestClient

/// Random transitions of sectioned states, converted to events and applied to a table.
@Suite struct FetchedResultsEventTests {
    private struct Transition {
        var old: SectionedSnapshot
        var new: SectionedSnapshot
        var diff: ResultsDiff
    }

    /// Returns the next state after `old`: after a few edits, after many, or an unrelated state.
    private static func transition(
        _ old: SectionedSnapshot,
        rows: Int,
        sections: Int,
        _ random: inout SeededRandom
    ) -> Transition {
        var new: SectionedSnapshot
        if random.oneIn(5) {
            new = random.snapshot(rows: rows, sections: sections, revision: old.revision.next)
        } else {
            let edits = 1 + random.below(random.oneIn(6) ? 20 : 4)
            new = random.edited(old, edits: edits, rows: rows, sections: sections)
        }
        if old.total == 0, new.total == 0 { new.sections = old.sections }
        var diff = NaiveDiff.difference(from: old, to: new)
        // A server may report more moves than necessary.
        if random.oneIn(3) { Self.addMoves(&diff, old, new, &random) }
        return Transition(old: old, new: new, diff: diff)
    }

    private static func addMoves(
        _ diff: inout ResultsDiff,
        _ old: SectionedSnapshot,
        _ new: SectionedSnapshot,
        _ random: inout SeededRandom
    ) {
        let moved = Set(diff.moves.map(\.to))
        let paths = Self.paths(old)
        for (id, path) in Self.paths(new).sorted(by: { $0.value < $1.value }) where !moved.contains(path) {
            guard let from = paths[id], random.oneIn(4) else { continue }
            diff.moves.append(.init(from: from, to: path))
        }
        diff.moves.sort { $0.to < $1.to }
    }

    private static func paths(_ state: SectionedSnapshot) -> [ObjectID: RowPosition] {
        var paths: [ObjectID: RowPosition] = [:]
        for (section, content) in state.sections.enumerated() {
            for (row, value) in content.rows.enumerated() { paths[value.id] = RowPosition(section, row) }
        }
        return paths
    }

    private static func forEachTransition(
        seeds: Range<UInt64>,
        _ body: (Transition, UInt64, inout SeededRandom) throws -> Void
    ) rethrows {
        for seed in Seeds.range(seeds) {
            var random = SeededRandom(seed: seed)
            let sections = random.oneIn(4) ? 1 : 2 + random.below(5)
            let rows = random.oneIn(8) ? 40 : 1 + random.below(10)
            var state = random.snapshot(rows: rows, sections: sections, revision: Revision(1))
            for _ in 0..<20 {
                let transition = Self.transition(state, rows: rows, sections: sections, &random)
                try body(transition, seed, &random)
                state = transition.new
            }
        }
    }

    /// A table accepts the batch and then shows the new state with its values, also if every move is replaced by a
    /// delete and an insert.
    @Test func aTableShowsTheNewStateAfterTheBatch() throws {
        var count = (moves: 0, crossings: 0, sections: 0, both: 0)
        try Self.forEachTransition(seeds: 0..<600) { transition, seed, _ in
            let events = try transition.diff.events(before: transition.old)
            let batch = BatchUpdates(events)
            Self.check(batch, transition, "NEST_SEED=\(seed)")
            Self.check(Self.withoutMoves(events), transition, "NEST_SEED=\(seed), no moves")
            let moved = Set(transition.diff.moves.map(\.to))
            count.moves += batch.movedRows.count
            count.crossings += moved.count - batch.movedRows.count
            count.sections += batch.deletedSections.count + batch.insertedSections.count
            count.both += transition.diff.updates.count { moved.contains($0.path) }
        }
        // The transitions include enough moves and section changes.
        guard Seeds.isUsual else { return }
        #expect(count.moves > 1_000 && count.crossings > 500 && count.sections > 1_000 && count.both > 500, "\(count)")
    }

    private static func check(_ batch: BatchUpdates, _ transition: Transition, _ what: String) {
        var table = TableModel(transition.old.sections)
        do throws(TableModel.Refusal) {
            try table.perform(batch, dataSource: transition.new.sections)
        } catch {
            Issue.record("\(what): \(error)")
        }
        if table.sections != transition.new.sections.map(\.rows) { Issue.record("\(what): wrong rows") }
    }

    private static func withoutMoves(_ events: [FetchedResultsEvent]) -> BatchUpdates {
        var batch = BatchUpdates(events)
        for case .move(_, let path, let newPath) in events {
            batch.movedRows.removeAll { $0.to == newPath }
            if !batch.deletedRows.contains(path) { batch.deletedRows.append(path) }
            if !batch.insertedRows.contains(newPath) { batch.insertedRows.append(newPath) }
            batch.reloadedRows.removeAll { $0 == newPath }
        }
        return batch
    }

    /// The table refuses some diffs that are not adjusted to table views: the table model is strict.
    @Test func aTableRefusesUnadjustedDiffs() {
        var refused = 0
        Self.forEachTransition(seeds: 0..<100) { transition, _, _ in
            var batch = BatchUpdates([])
            batch.deletedSections = transition.diff.deletedSections
            batch.insertedSections = transition.diff.insertedSections.map(\.index)
            batch.deletedRows = transition.diff.deletedRows.map(\.path)
            batch.insertedRows = transition.diff.insertedRows.map(\.path)
            batch.movedRows = transition.diff.moves
            var table = TableModel(transition.old.sections)
            do throws(TableModel.Refusal) {
                try table.perform(batch, dataSource: transition.new.sections)
            } catch {
                refused += 1
            }
        }
        #expect(refused > 100 || !Seeds.isUsual)
    }

    /// Each event agrees with the old and the new state: rows, sections and index paths.
    @Test func eventsAgreeWithBothStates() throws {
        try Self.forEachTransition(seeds: 1_000..<1_400) { transition, seed, _ in
            let (old, new) = (transition.old, transition.new)
            let oldPaths = Self.paths(old), newPaths = Self.paths(new)
            let events = try transition.diff.events(before: old)
            var isTrue = events.first == .willChangeContent && events.last == .didChangeContent
            var gone: Set<ObjectID> = [], come: Set<ObjectID> = []
            var moved: Set<ObjectID> = [], updated: Set<ObjectID> = []
            for event in events {
                switch event {
                case .willChangeContent, .didChangeContent: break
                case .deleteSection(let info, let index):
                    isTrue = isTrue && ResultsSection(key: info.key, rows: info.objects) == old.sections[index]
                case .insertSection(let info, let index):
                    isTrue = isTrue && ResultsSection(key: info.key, rows: info.objects) == new.sections[index]
                case .delete(let row, let path): isTrue = isTrue && old[path] == row && gone.insert(row.id).inserted
                case .insert(let row, let path): isTrue = isTrue && new[path] == row && come.insert(row.id).inserted
                case .move(let row, let path, let newPath):
                    isTrue = isTrue && old[path].id == row.id && new[newPath] == row && moved.insert(row.id).inserted
                case .update(let row, let path, let newPath):
                    isTrue = isTrue && old[path].id == row.id && new[newPath] == row && updated.insert(row.id).inserted
                }
            }
            isTrue = isTrue && gone == Set(oldPaths.keys.filter { newPaths[$0] == nil })
            isTrue = isTrue && come == Set(newPaths.keys.filter { oldPaths[$0] == nil })
            isTrue = isTrue && moved.isDisjoint(with: gone) && moved.isDisjoint(with: come)
            let changed = newPaths.filter { id, path in oldPaths[id].map { old[$0] != new[path] } ?? false }
            isTrue = isTrue && updated == Set(changed.keys)
            if !isTrue { Issue.record("NEST_SEED=\(seed): \(events)") }
        }
    }

    /// Events have the order that delegates may rely on.
    @Test func eventsHaveTheDocumentedOrder() throws {
        try Self.forEachTransition(seeds: 2_000..<2_200) { transition, seed, _ in
            let deleted = Set(transition.diff.deletedSections)
            let events = try transition.diff.events(before: transition.old)
            let ranks = events.map { event -> (Int, RowPosition) in
                switch event {
                case .willChangeContent: (0, RowPosition(0, 0))
                case .delete(_, let path): (deleted.contains(path.section) ? 1 : 4, path)
                case .deleteSection(_, let index): (2, RowPosition(index, 0))
                case .insertSection(_, let index): (3, RowPosition(index, 0))
                case .move(_, _, let path): (5, path)
                case .insert(_, let path): (6, path)
                case .update(_, _, let path): (7, path)
                case .didChangeContent: (8, RowPosition(0, 0))
                }
            }
            let isAscending = zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 }
            if !isAscending { Issue.record("NEST_SEED=\(seed): \(events)") }
        }
    }

    /// The index that diffs maintain contains exactly the present objects at their positions.
    @Test func anUpdatedIndexEqualsARebuiltOne() throws {
        var index: (seed: UInt64, index: PathIndex)?
        try Self.forEachTransition(seeds: 3_000..<3_300) { transition, seed, _ in
            if index?.seed != seed { index = (seed, PathIndex(transition.old)) }
            index?.index.note(transition.diff, try transition.diff.events(before: transition.old))
            let paths = Self.paths(transition.new)
            for id in (1...60).map({ ObjectID($0) }) where index?.index.indexPath(of: id) != paths[id] {
                Issue.record("NEST_SEED=\(seed): object \(id)")
            }
        }
    }

    /// A corrupted diff is either refused or converted to events, never a trap. Every diff that the state accepts has
    /// events.
    @Test func everyAcceptedDiffHasEvents() {
        var refused = 0
        Self.forEachTransition(seeds: 4_000..<4_400) { transition, seed, random in
            var diff = transition.diff
            Self.corrupt(&diff, &random)
            var state = transition.old
            let isAccepted = (try? state.apply(diff)) != nil
            let events = try? diff.events(before: transition.old)
            if isAccepted, events == nil { Issue.record("NEST_SEED=\(seed): no events for an accepted diff: \(diff)") }
            if events == nil { refused += 1 }
        }
        #expect(refused > 1_000 || !Seeds.isUsual)
    }

    private static func corrupt(_ diff: inout ResultsDiff, _ random: inout SeededRandom) {
        let by = random.pick([-1, 1, 1_000, 1 << 40])
        func off(_ path: inout RowPosition, _ random: inout SeededRandom) {
            if random.oneIn(2) { path.section += by } else { path.row += by }
        }
        for index in diff.deletedRows.indices where random.oneIn(3) { off(&diff.deletedRows[index].path, &random) }
        for index in diff.deletedSections.indices where random.oneIn(3) { diff.deletedSections[index] += by }
        for index in diff.insertedSections.indices where random.oneIn(3) { diff.insertedSections[index].index += by }
        for index in diff.moves.indices where random.oneIn(3) {
            if random.oneIn(2) { off(&diff.moves[index].from, &random) } else { off(&diff.moves[index].to, &random) }
        }
        for index in diff.insertedRows.indices where random.oneIn(3) { off(&diff.insertedRows[index].path, &random) }
        for index in diff.updates.indices where random.oneIn(3) {
            if random.oneIn(3) {
                diff.updates[index].values.append((PropertyNumber(9), .null))
            } else {
                off(&diff.updates[index].path, &random)
            }
        }
    }
}
