import NestModel
import NestTestSupport
import Testing
import NestSchema

/// Checks the diffs of one step against the contents of the store before and after it.
struct DiffCheck {
    private let before: NaiveResults
    /// Whether some diffs may start from states older than the step.
    var isCatchUp = false
    /// The number of writes.
    var transactionCount = 0
    /// The requested changes of subscriptions, and whether their outcome is uncertain.
    var changes: [ObjectFetchRequest: (kind: SeededRandom.Change, isUncertain: Bool)] = [:]
    private var taken:
        [(request: ObjectFetchRequest, diff: ResultsDiff, old: SectionedSnapshot, new: SectionedSnapshot)] = []

    init(before: NaiveResults) {
        self.before = before
    }

    mutating func note(
        _ request: ObjectFetchRequest,
        _ diff: ResultsDiff,
        _ old: SectionedSnapshot,
        _ new: SectionedSnapshot
    ) {
        self.taken.append((request, diff, old, new))
    }

    /// `asked`: the original requests, by their canonical form.
    /// `past`: the contents at each revision that was the end of a batch.
    func expectSound(
        _ past: [Revision: NaiveResults],
        _ after: NaiveResults,
        _ asked: [ObjectFetchRequest: ObjectFetchRequest],
        _ what: String
    ) {
        for (request, diff, old, new) in self.taken {
            // Writes that are prepared are committed in later batches of the step.
            let after = past[diff.to] ?? after
            let rows = asked[request].map { Set(after.order($0)) } ?? []
            for left in diff.deletedRows {
                let isGone = after.rows[left.id] == nil
                #expect((left.reason == .outOfWindow) == rows.contains(left.id), "\(what): \(left)")
                #expect((left.reason == .deleted) == isGone, "\(what): \(left), gone: \(isGone)")
            }
            if diff.from == diff.to {
                #expect(diff.moves.isEmpty && diff.updates.isEmpty, "\(what): a changed subscription moves rows")
            }
            guard let asked = asked[request], !self.isCatchUp, diff.from < diff.to, !asked.sort.isEmpty,
                asked.sort != [.order]
            else {
                continue
            }
            self.expectFewMoves(asked, diff, old, new, after, what)
        }
    }

    /// In a result that is sorted by values, only rows with a changed key move, and as few of them as possible.
    private func expectFewMoves(
        _ request: ObjectFetchRequest,
        _ diff: ResultsDiff,
        _ old: SectionedSnapshot,
        _ new: SectionedSnapshot,
        _ after: NaiveResults,
        _ what: String
    ) {
        var placed: Set<ObjectID> = []
        let (oldRows, newRows) = (NaiveMoves.rows(old.sections), NaiveMoves.rows(new.sections))
        let there = Set(newRows.map(\.id))
        for (_, id) in oldRows where there.contains(id) {
            if self.before.sortValues(request, of: id) != after.sortValues(request, of: id) { placed.insert(id) }
        }
        // Several transactions may have changed a key and changed it back.
        for move in diff.moves where self.transactionCount > 1 {
            let id = old[move.from].id
            if self.before.rows[id]?.revision != after.rows[id]?.revision { placed.insert(id) }
        }
        for move in diff.moves {
            #expect(placed.contains(old[move.from].id), "\(what): an unchanged row moves by \(move) in \(request)")
        }
        guard let fewest = NaiveMoves.fewest(from: oldRows, to: newRows, placed: placed, triesMax: 6) else { return }
        let isOne = self.transactionCount == 1
        #expect(
            isOne ? diff.moves.count == fewest : diff.moves.count >= fewest,
            "\(what): \(diff.moves.count) moves, \(fewest) are enough in \(request)"
        )
    }
}
