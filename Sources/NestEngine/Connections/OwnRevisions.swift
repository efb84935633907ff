import NestModel
import NestProtocol

/// Notifies connections, before the diffs of a batch, which of its revisions are their own writes. The receipts contain
/// these revisions too, but follow after the diffs.
struct OwnRevisions {
    let connections: EngineConnections

    /// Notifies the connections that wrote in a batch. A blocked connection is notified when it drains.
    func push(of writes: [WriteRequest], _ outcomes: [Commit.Outcome], _ effects: inout [EngineEffect]) {
        var own = Own()
        for index in writes.indices {
            guard self.isNotified(writes[index].connection),
                case .answered(.receipt(let receipt)) = outcomes[index]
            else { continue }
            own.note(receipt, of: writes[index].connection)
        }
        for id in own.order { Self.append(own.revisions[id]!, to: id, &effects) }
    }

    /// Notifies the connections whose forwarded writes are in applied records.
    func push(of forwarded: [AppliedPush.Forwarded], _ effects: inout [EngineEffect]) {
        var own = Own()
        for (id, _, receipt) in forwarded where self.isNotified(id) { own.note(receipt, of: id) }
        for id in own.order { Self.append(own.revisions[id]!.sorted(), to: id, &effects) }
    }

    private struct Own {
        var revisions: [ConnectionID: [Revision]] = [:]
        var order: [ConnectionID] = []

        mutating func note(_ receipt: Receipt, of id: ConnectionID) {
            let revisions = receipt.ownRevisions
            guard !revisions.isEmpty else { return }
            if self.revisions[id] == nil { self.order.append(id) }
            self.revisions[id, default: []] += revisions
        }
    }

    private func isNotified(_ id: ConnectionID) -> Bool {
        guard let connection = self.connections.recent(id) else { return false }
        return !connection.views.isEmpty && !connection.isBlocked
    }

    /// Notifies a connection of its own writes whose replies wait for its net differences.
    func pushHeld(by connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard !connection.views.isEmpty else { return }
        let own = connection.heldReplies.flatMap { held -> [Revision] in
            if case .receipt(let receipt) = held.reply { receipt.ownRevisions } else { [] }
        }
        Self.append(own, to: connection.id, &effects)
    }

    /// Appends as many messages as the revisions need: one names at most as many as a connection has requests in
    /// flight, and an undo of a long group has one revision for each of its transactions.
    private static func append(_ own: [Revision], to connection: ConnectionID, _ effects: inout [EngineEffect]) {
        let countMax = Limits.requestsInFlightPerConnectionMax
        for start in stride(from: 0, to: own.count, by: countMax) {
            effects.append(.own(Array(own[start..<min(start + countMax, own.count)]), to: connection))
        }
    }
}

extension Receipt {
    /// The revisions of the write; empty if it changed nothing or the receipt is replayed.
    fileprivate var ownRevisions: [Revision] {
        guard self.isChanged, !self.isReplayed else { return [] }
        return (0..<self.revisionCount).reversed().map { Revision(self.revision.rawValue - UInt64($0)) }
    }
}
