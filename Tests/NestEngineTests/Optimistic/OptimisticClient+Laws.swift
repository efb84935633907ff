import NestEngine
import NestModel
import NestOverlay
import NestTestSupport
import Testing

/// The laws of what a client shows.
extension OptimisticClient {
    func check(_ id: OptimisticViews.ID, _ view: OverlaidView, wasEmpty: Bool, _ what: String) {
        let request = self.numbers.first { $0.value == id }!.key
        let what = "\(what), session \(self.client.session.low % 1_000), view \(id.rawValue)"
        let server = self.bases[id]!.state
        let rows = view.state.sections.flatMap(\.rows)
        if Set(rows.map(\.id)).count != rows.count { Issue.record("\(what): an object is shown twice") }
        if wasEmpty, view.state != server {
            Issue.record("\(what): differs from the server's state, though nothing is pending")
        }
        self.checkDeleted(view, rows, what)
        guard let old = self.shown[id] else { return }
        if view.state.revision < old.state.revision { Issue.record("\(what): an older state") }
        // Only own writes lie between the two states.
        let from = old.state.revision.rawValue + 1
        let isConfirmation =
            server.revision > old.state.revision && server.revision.rawValue - old.state.revision.rawValue < 1_000
            && (from..<server.revision.rawValue + 1).allSatisfy { self.own.contains(Revision($0)) }
        guard isConfirmation, !self.isDisturbed, old.isDecided, !self.hadHopeless else { return }
        self.count("confirmations")
        if request.outline != nil { self.count("confirmed outlines") }
        let isWhole =
            request.window == nil
            || (request.outline != nil && request.hasRoom(for: old.state.total) && Self.isWhole(old.state)
                && Self.isWhole(server)
                && self.lastBases[id].map { request.hasMoreRoom(than: $0.state.total) } ?? false)
        if old.state.sections.map(\.rows) != view.state.sections.map(\.rows), isWhole {
            Issue.record(
                "\(what): a confirmation shows \(Self.brief(view)) instead of \(Self.brief(old)) of \(request); pending \(self.views.pending.writes.map { ($0.state, $0.transaction.mutations.map(\.brief)) })"
            )
        }
    }

    /// An object that a pending write deletes is not shown, unless the client cannot know whether it goes.
    private func checkDeleted(_ view: OverlaidView, _ rows: [Row], _ what: String) {
        var deleted: Set<ObjectID> = []
        for write in self.views.pending.laid(at: view.state.revision) {
            for case .delete(let object) in write.transaction.mutations where object.rawValue > 0 {
                deleted.insert(ObjectID(object.rawValue))
            }
        }
        guard !deleted.isEmpty else { return }
        self.count("under a delete")
        for row in rows where deleted.contains(row.id) && !view.undecided.contains(row.id) && view.doubts == 0 {
            Issue.record("\(what): \(row.id) is shown under its pending delete")
        }
    }

    /// Whether a window shows all rows.
    private static func isWhole(_ state: SectionedSnapshot) -> Bool {
        state.window.map { $0.start.row == 0 && $0.total == state.total } ?? true
    }

    private static func brief(_ view: OverlaidView) -> String {
        "\(view.state.sections.flatMap { $0.rows.map { "\($0.id)\($0.values)" } })"
    }

    /// All lists show the same writes: those that the client has made, that were not refused or taken back, and that
    /// the list's state does not have; and nothing else. So a write comes and goes in all lists at once.
    func checkWhole(_ pending: PendingWrites, _ what: String) {
        let what = "\(what), session \(self.client.session.low % 1_000)"
        let groups = Dictionary(grouping: self.bases.keys) { self.bases[$0]!.state.revision }
        for (revision, ids) in groups.sorted(by: { $0.key < $1.key }) {
            let applying = self.ledger.applying(at: revision)
            let possible = pending.writes.filter { applying.contains($0.id) && !$0.isHopeless }
            let known = Set(pending.writes.map(\.id))
            if !applying.isSubset(of: known) { Issue.record("\(what): forgot writes at \(revision)") }
            let laid = pending.laid(at: revision).map(\.id)
            if laid != possible.map(\.id) { Issue.record("\(what): lays \(laid), not \(possible.map(\.id))") }
            let ids = ids.sorted()
            let expected = Overlay.laid(
                over: ids.map { self.bases[$0]! },
                possible.map(\.transaction),
                in: self.model
            )
            for (id, view) in zip(ids, expected.views) where view.isDecided {
                guard let shown = self.shown[id] else { continue }
                self.count("whole")
                if shown.state.sections != view.state.sections || shown.pending != view.pending {
                    Issue.record("\(what), view \(id.rawValue): shows \(Self.brief(shown)), not \(Self.brief(view))")
                }
            }
        }
    }

    /// What a write makes has the same id before and after its confirmation.
    func checkIDs(of write: PendingWrites.Write, _ receipt: Receipt, _ what: String) {
        let made = receipt.results.filter { !$0.isFound }.flatMap { run in
            (0..<Int64(run.count)).map { ObjectID(run.first.rawValue + $0) }
        }
        for case .insertAs(let id, _, _, _) in write.transaction.mutations where receipt.isChanged && !made.contains(id)
        {
            Issue.record("\(what): \(id) is \(made) now")
        }
    }
}
