import NestClient
import NestModel
import NestTestSupport
import Testing

/// A list of sections as a view keeps it: only the ids.
private typealias Shown = [[ObjectID]]

@Suite struct FetchedResultsEventTests {
    /// A view that takes the events as one batch shows the new state, and is told no move that views refuse.
    @Test func eventsAsABatchGiveTheNewState() throws {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let old = Self.state(1, &random), new = Self.state(2, &random)
            let diff = Self.difference(old, new, &random)
            var applied = old
            try applied.apply(diff)
            #expect(applied == new, "seed \(seed): the diff itself")
            let events = diff.events(in: new)
            #expect(events.first == .willChangeContent && events.last == .didChangeContent, "seed \(seed)")
            let shown = Self.apply(events, to: old.sections.map { $0.rows.map(\.id) })
            #expect(shown == new.sections.map { $0.rows.map(\.id) }, "seed \(seed)")
            for case .move(_, let from, let to) in events {
                #expect(!diff.deletedSections.contains(from.section), "seed \(seed)")
                #expect(!diff.insertedSections.contains { $0.index == to.section }, "seed \(seed)")
            }
        }
    }

    private static func state(_ revision: UInt64, _ random: inout SeededRandom) -> SectionedSnapshot {
        let keys = ["a", "b", "c", "d"].filter { _ in !random.oneIn(3) }
        var sections = keys.map { Section(key: .string($0), rows: []) }
        guard !sections.isEmpty else {
            return SectionedSnapshot(revision: Revision(revision), projection: [PropertyNumber(1)], sections: [])
        }
        for id in (1...8).shuffled(using: &random) where !random.oneIn(3) {
            sections[random.below(sections.count)].rows.append(Fixtures.row(Int64(id), "r"))
        }
        sections.removeAll { $0.rows.isEmpty }
        return SectionedSnapshot(revision: Revision(revision), projection: [PropertyNumber(1)], sections: sections)
    }

    /// A valid diff, not a minimal one: of the rows common to both, some that keep their order stay, the others move.
    private static func difference(
        _ old: SectionedSnapshot,
        _ new: SectionedSnapshot,
        _ random: inout SeededRandom
    ) -> ResultsDiff {
        var diff = ResultsDiff(from: old.revision, to: new.revision, total: new.total, digest: new.digest)
        let oldPaths = Self.paths(old), newPaths = Self.paths(new)
        let oldKeys = old.sections.map(\.key), newKeys = new.sections.map(\.key)
        diff.deletedSections = oldKeys.indices.filter { !newKeys.contains(oldKeys[$0]) }
        diff.insertedSections = newKeys.indices.filter { !oldKeys.contains(newKeys[$0]) }
            .map { .init(index: $0, key: newKeys[$0]) }
        for (id, path) in oldPaths.sorted(by: { $0.value < $1.value }) where newPaths[id] == nil {
            diff.deletedRows.append(.init(path: path, id: id, reason: .deleted))
        }
        var lastKept: [AttributeValue: Int] = [:]
        for (id, path) in newPaths.sorted(by: { $0.value < $1.value }) {
            guard let before = oldPaths[id] else {
                diff.insertedRows.append(.init(path: path, row: new[path]))
                continue
            }
            let key = newKeys[path.section]
            if oldKeys[before.section] == key, before.row > lastKept[key] ?? -1, !random.oneIn(4) {
                lastKept[key] = before.row
            } else {
                diff.moves.append(.init(from: before, to: path))
            }
        }
        return diff
    }

    private static func paths(_ state: SectionedSnapshot) -> [ObjectID: IndexPath] {
        var paths: [ObjectID: IndexPath] = [:]
        for (section, content) in state.sections.enumerated() {
            for (row, value) in content.rows.enumerated() { paths[value.id] = IndexPath(section, row) }
        }
        return paths
    }

    /// What a view does with a batch: takes out by old paths, puts in by new ones.
    private static func apply(_ events: [FetchedResultsEvent], to old: Shown) -> Shown {
        var gone: Set<IndexPath> = []
        var arrivals: [(IndexPath, ObjectID)] = []
        var deletedSections: Set<Int> = []
        var insertedSections: [Int] = []
        for event in events {
            switch event {
            case .delete(_, let path): gone.insert(path)
            case .move(let id, let from, let to):
                gone.insert(from)
                arrivals.append((to, id))
            case .insert(let row, let path): arrivals.append((path, row.id))
            case .deleteSection(let index): deletedSections.insert(index)
            case .insertSection(let index, _): insertedSections.append(index)
            case .update, .willChangeContent, .didChangeContent: break
            }
        }
        var shown: Shown = old.enumerated().filter { !deletedSections.contains($0.offset) }.map { section, rows in
            rows.enumerated().filter { !gone.contains(IndexPath(section, $0.offset)) }.map(\.element)
        }
        for index in insertedSections.sorted() { shown.insert([], at: index) }
        for (path, id) in arrivals.sorted(by: { $0.0 < $1.0 }) { shown[path.section].insert(id, at: path.row) }
        return shown
    }
}
