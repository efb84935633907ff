import NestProtocol
import NestModel
import NestStore

/// Sends whole views to subscribers.
struct ViewPushes {
    let store: Store
    let connections: EngineConnections
    let admission: Admission
    let snapshots: ViewSnapshots
    let positions: WindowPositions
    let lagging: LaggingViews
    let reads: BackgroundReads
    let counters: EngineCounters

    /// Sends a whole view. A view with too many bytes to be encoded between two commits is read in the background.
    func sendSnapshot(
        _ view: View,
        reason: SnapshotReason,
        to connections: [ConnectionID],
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        do {
            let (header, rows, totals) = try self.snapshots.snapshot(view)
            self.send(header, rows, totals, reason, of: view, to: connections, &effects)
            self.positions.noteSent(view, to: connections)
        } catch StoreError.postponed(.snapshotTooLarge) {
            let head = self.store.head
            for id in connections {
                self.lagging.lag(id, view, .lagging(base: head, known: head, range: view.range))
                try self.requestSnapshot(view, reason, for: id, now: now, &effects)
            }
        }
    }

    /// Requests a background read of a whole view for a lagging subscription.
    func requestSnapshot(
        _ view: View,
        _ reason: SnapshotReason,
        for id: ConnectionID,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let waiter = PendingRead.Waiter.catchUp(view: view.id, reason)
        try self.reads.request(view.key, view.slots, for: waiter, id, 0, now: now, &effects)
    }

    func send(
        _ header: SnapshotHeader,
        _ rows: [SharedBytes],
        _ totals: [UInt8]?,
        _ reason: SnapshotReason,
        of view: View,
        to connections: [ConnectionID],
        _ effects: inout [EngineEffect]
    ) {
        self.counters.snapshots += 1
        var header = header
        header.reason = reason
        let push = EnginePush(view: view.id, content: .snapshot(header, rows: rows), totals: totals)
        effects.append(.push(push, to: connections))
        let bytes = rows.reduce(64 + (totals?.count ?? 0)) { $0 + $1.bytes.count }
        for id in connections {
            if let connection = self.connections[id] { self.admission.charge(bytes, to: connection, &effects) }
        }
    }
}
