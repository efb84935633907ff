import NestModel
import NestTestSupport
import Testing

@testable import NestStore

/// The laws of undo, on random models and histories.
@Suite struct UndoLawTests {
    /// Undoes everything, redoes everything, and undoes it again, without other changes: each step restores the earlier
    /// state, including orders.
    @Test func undoAndRedoOfAllIsTheIdentity() throws {
        var undone = 0
        for seed in Seeds.range(0..<36) {
            let history = try ModelHistory(seed: seed)
            do {
                for _ in 0..<Seeds.steps(25) { try history.transact(size: 20) }
                var entries = history.log
                undone += entries.count
                for _ in 0..<3 {
                    var back: [ModelHistory.Entry] = []
                    for entry in entries.reversed() {
                        guard let undo = try self.take(entry, back: history) else { throw ModelHistory.Disagreement() }
                        back.append(undo)
                    }
                    entries = back
                }
            } catch is ModelHistory.Disagreement {}
        }
        if Seeds.isUsual { #expect(undone > 300) }
    }

    /// Reverts the entry that was made last, or that has become the last one because the later ones were reverted.
    private func take(_ entry: ModelHistory.Entry, back history: ModelHistory) throws -> ModelHistory.Entry? {
        switch try history.revert(entry.revision) {
        case .success(let undo?):
            guard undo.after == entry.before else {
                let differences = undo.after.differences(from: entry.before).joined(separator: "; ")
                Issue.record("\(history.what): the undo of \(entry.revision) leaves \(differences)")
                return nil
            }
            return undo
        case .success(nil):
            // The undo of an entry without a visible change may change nothing.
            guard entry.before == entry.after else {
                Issue.record("\(history.what): the undo of \(entry.revision) does nothing")
                return nil
            }
            return entry
        case .failure(let error):
            Issue.record("\(history.what): the undo of \(entry.revision) is refused: \(error)")
            return nil
        }
    }

    /// Reverts any earlier transaction after changes of others: an undo changes only what its transaction changed. If
    /// later changes prevent it, it is refused and changes nothing.
    @Test func undoChangesOnlyWhatItsTransactionChanged() throws {
        var taken = 0
        var refused: [ErrorCode: Int] = [:]
        for seed in Seeds.range(100..<148) {
            let history = try ModelHistory(seed: seed)
            do {
                for _ in 0..<Seeds.steps(40) {
                    guard let entry = history.anyEntry(), history.random.oneIn(2) else {
                        try history.transact(size: 20)
                        continue
                    }
                    switch try history.revert(entry.revision) {
                    case .success(let undo):
                        taken += 1
                        // An undo that changes nothing leaves everything as it was.
                        let nothing = ModelHistory.Entry(
                            revision: entry.revision,
                            before: history.graph,
                            after: history.graph
                        )
                        let broken = UndoLaws(
                            of: entry,
                            by: undo ?? nothing,
                            since: history.log.filter { $0.revision > entry.revision }
                        ).broken
                        if !broken.isEmpty {
                            Issue.record(
                                "\(history.what): the undo of \(entry.revision): \(broken.joined(separator: "; "))"
                            )
                            throw ModelHistory.Disagreement()
                        }
                    case .failure(let error):
                        refused[error.code, default: 0] += 1
                        let codes: Set<ErrorCode> = [
                            .undoConflict, .cycle, .notUnique, .validationFailed, .ownerGone,
                        ]
                        let isJustified = error.code != .undoConflict || history.hasChangesSince(entry)
                        history.expect(
                            codes.contains(error.code) && isJustified,
                            "the undo of \(entry.revision) is refused: \(error)"
                        )
                    }
                }
            } catch is ModelHistory.Disagreement {}
        }
        if Seeds.isUsual {
            #expect(taken > 200 && refused[.undoConflict, default: 0] > 100)
        } else {
            print("reverted \(taken), refused \(refused)")
        }
    }
}

extension ModelHistory {
    /// Whether an object that a transaction changed has changed again since.
    fileprivate func hasChangesSince(_ entry: Entry) -> Bool {
        let ids = Set(entry.before.objects.keys).union(entry.after.objects.keys)
            .filter { entry.before.objects[$0] != entry.after.objects[$0] }
        return entry.isAnew
            || self.log.contains { later in
                later.revision > entry.revision
                    && (later.isAnew || ids.contains { later.before.objects[$0] != later.after.objects[$0] })
            }
    }

    /// Returns a random entry, usually one of the last four.
    fileprivate func anyEntry() -> Entry? {
        guard !self.log.isEmpty else { return nil }
        let back = self.random.oneIn(3) ? self.random.below(self.log.count) : self.random.below(min(self.log.count, 4))
        return self.log[self.log.count - 1 - back]
    }
}
