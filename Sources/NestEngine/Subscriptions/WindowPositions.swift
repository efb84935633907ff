import NestLiveQuery
import NestModel

/// Where windows are in their results, as their subscribers know it. Windows that show the same rows as before are
/// notified of their new position by a timer, not by every batch.
final class WindowPositions {
    private let live: LiveResults
    /// Results whose windows may be elsewhere than their subscribers know.
    private var stale: Set<ResultKey> = []

    init(_ live: LiveResults) {
        self.live = live
    }

    /// The view took its result's present state.
    func noteAdvanced(_ view: View) { if view.key.window != nil { self.stale.insert(view.key.result) } }

    /// These connections have been sent the position, others may not.
    func noteSent(_ view: View, to connections: [ConnectionID]) {
        guard view.key.window != nil, let entry = self.live[view.key.result] else { return }
        let position = view.position(in: entry.result.tree)
        let isAll = connections.count == view.subscribers.syncedCount
        if isAll, connections.allSatisfy({ view.subscribers[$0] == .synced }) {
            view.sentPosition = position
        } else if view.sentPosition != position {
            self.noteUnknown(view)
        }
    }

    /// Some subscribers may not know the position: the timer sends it to all of them.
    func noteUnknown(_ view: View) {
        guard view.key.window != nil else { return }
        view.sentPosition = nil
        self.stale.insert(view.key.result)
    }

    /// Sends the positions that have changed.
    func push(_ effects: inout [EngineEffect]) {
        let stale = self.stale.compactMap { self.live[$0] }.sorted { $0.number < $1.number }
        self.stale = []
        for entry in stale {
            for view in entry.views.values.sorted(by: { $0.id < $1.id }) where view.key.window != nil {
                guard let position = view.position(in: entry.result.tree), position != view.sentPosition else {
                    continue
                }
                view.sentPosition = position
                guard !view.synced.isEmpty else { continue }
                let push = EnginePush(view: view.id, content: .position(position, entry.result.revision))
                effects.append(.push(push, to: view.synced))
            }
        }
    }
}
