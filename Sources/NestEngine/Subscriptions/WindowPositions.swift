import NestLiveQuery
import NestModel

/// The positions of windows in their results, as their subscribers know them. A window that shows the same rows as
/// before is sent its new position by the position timer, not with every batch.
final class WindowPositions {
    private let live: LiveResults
    /// Results with windows whose position may differ from the one that their subscribers know.
    private var stale: Set<ResultKey> = []

    init(_ live: LiveResults) {
        self.live = live
    }

    /// Notes that a view was updated to its result's current state.
    func noteAdvanced(_ view: View) { if view.key.window != nil { self.stale.insert(view.key.result) } }

    /// Notes that these connections were sent the position; others may not know it.
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

    /// Notes that some subscribers may not know the position: the timer sends it to all of them.
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
