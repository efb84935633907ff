import NestModel
import NestTestSupport
import Testing

@testable import nestc

/// The marks of changed rows in a window.
@Suite struct ChangeMarksTests {
    private static func state(_ ids: [Int64], _ window: Range<Int>, _ revision: UInt64) -> SectionedSnapshot {
        let rows = ids[window.clamped(to: 0..<ids.count)].map { Row(id: ObjectID($0), values: []) }
        return SectionedSnapshot(
            revision: Revision(revision),
            projection: [],
            sections: [ResultsSection(key: .string(""), rows: Array(rows))],
            window: WindowPosition(
                total: ids.count,
                sectionTotal: 1,
                start: WindowStart(row: min(window.lowerBound, ids.count))
            )
        )
    }

    /// Returns the difference that a server would send. `moved`: the row that the change moves.
    private static func diff(
        _ old: SectionedSnapshot,
        _ new: SectionedSnapshot,
        existing: Set<Int64>,
        moved: Int64?
    ) -> ResultsDiff {
        let (before, after) = (old.sections[0].rows.map(\.id), new.sections[0].rows.map(\.id))
        var diff = ResultsDiff(from: old.revision, to: new.revision, total: after.count, digest: 0)
        diff.window = new.window
        for (index, id) in before.enumerated() where !after.contains(id) {
            let reason: LeaveReason = existing.contains(id.rawValue) ? .outOfWindow : .deleted
            diff.deletedRows.append(ResultsDiff.DeletedRow(path: RowPosition(0, index), id: id, reason: reason))
        }
        for (index, row) in new.sections[0].rows.enumerated() {
            if !before.contains(row.id) {
                diff.insertedRows.append(ResultsDiff.InsertedRow(path: RowPosition(0, index), row: row))
            } else if row.id.rawValue == moved, let from = before.firstIndex(of: row.id) {
                diff.moves.append(ResultsDiff.Move(from: RowPosition(0, from), to: RowPosition(0, index)))
            }
        }
        return diff
    }

    /// `+` stands only before a row that is new, and `>` only before the row that has moved. The numbers count the
    /// whole list.
    @Test func marksSayWhatHasChanged() {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var ids = (0..<Int64(random.below(30))).map { $0 + 10 }
            let window = random.below(10)..<random.below(10) + 10 + random.below(15)
            var marks = ChangeMarks()
            var old = Self.state(ids, window, 1)
            marks.note(snapshot: old, isAnswer: true)
            for revision in 2..<8 as Range<UInt64> {
                var (inserted, moved): (Set<Int64>, Int64?) = ([], nil)
                let before = ids
                switch random.below(3) {
                case 0:
                    let place = random.below(ids.count + 1)
                    inserted = Set((0...Int64(random.below(3))).map { $0 + Int64(revision) * 100 })
                    ids.insert(contentsOf: inserted.sorted(), at: place)
                case 1 where !ids.isEmpty: ids.remove(at: random.below(ids.count))
                case 2 where !ids.isEmpty:
                    let id = ids.remove(at: random.below(ids.count))
                    ids.insert(id, at: random.below(ids.count + 1))
                    moved = id
                default: continue
                }
                let new = Self.state(ids, window, revision)
                let diff = Self.diff(old, new, existing: Set(ids), moved: moved)
                let shown = Set(old.sections[0].rows.map(\.id))
                marks.shown()
                if diff.isEmpty, let position = new.window {
                    // A move outside the window changes nothing here.
                    guard ids.count != before.count else {
                        old = new
                        continue
                    }
                    marks.note(position)
                } else {
                    marks.note(diff, new, isAnswer: false)
                }
                for row in new.sections[0].rows {
                    switch marks[row.id].position {
                    case "+": #expect(inserted.contains(row.id.rawValue), "seed \(seed)")
                    case ">": #expect(row.id.rawValue == moved, "seed \(seed)")
                    default:
                        // Rows between rows that were shown before have a mark.
                        let isNew = inserted.contains(row.id.rawValue)
                        let isWhole = old.sections[0].rows.count == before.count
                        #expect(!isNew || !isWhole && !shown.contains(row.id), "seed \(seed)")
                    }
                }
                let counts = marks.counts.map(\.text)
                #expect(counts.contains { $0.hasPrefix("+") } == (ids.count > before.count), "seed \(seed)")
                #expect(counts.contains { $0.hasPrefix("-") } == (ids.count < before.count), "seed \(seed)")
                if ids.count > before.count { #expect(counts.contains("+\(inserted.count)"), "seed \(seed)") }
                old = new
            }
        }
    }

    @Test func scrollingChangesNoMarks() {
        let ids = (0..<Int64(100)).map { $0 + 10 }
        var marks = ChangeMarks()
        let first = Self.state(ids, 0..<20, 1)
        marks.note(snapshot: first, isAnswer: true)
        let changed = [Int64(500)] + ids
        let second = Self.state(changed, 0..<20, 2)
        marks.note(Self.diff(first, second, existing: Set(changed), moved: nil), second, isAnswer: false)
        marks.shown()
        let third = Self.state(changed, 50..<70, 2)
        marks.note(Self.diff(second, third, existing: Set(changed), moved: nil), third, isAnswer: true)
        #expect(third.sections[0].rows.allSatisfy { marks[$0.id] == ChangeMarks.Mark() })
        #expect(marks.counts.map(\.text) == ["+1"])
    }
}
