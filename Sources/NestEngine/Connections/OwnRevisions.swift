import NestModel
import NestProtocol

/// Notifies connections, before the diffs of a batch, which of its revisions are their own writes. The receipts contain
/// these revisions too, but follow after the diffs.
struct OwnRevisions {
    let connections: EngineConnections

    /// Notifies the connections that wrote in a batch. A blocked connection is notified when it drains; one whose
    /// requests are named, at once: before any state that has the write.
    func push(of writes: [WriteRequest], _ outcomes: [Commit.Outcome], _ effects: inout [EngineEffect]) {
        var own = Own()
        for index in writes.indices {
            guard self.isNotified(writes[index].connection),
                case .answered(.receipt(let receipt)) = outcomes[index]
            else { continue }
            own.note(receipt, writes[index].requestID, of: writes[index].connection)
        }
        for id in own.order { self.append(own.writes[id]!, to: id, &effects) }
    }

    /// Notifies the connections whose forwarded writes are in applied records.
    func push(of forwarded: [AppliedPush.Forwarded], _ effects: inout [EngineEffect]) {
        var own = Own()
        for (id, forward, receipt) in forwarded where self.isNotified(id) {
            own.note(receipt, forward.requestID, of: id)
        }
        for id in own.order { self.append(own.writes[id]!.sorted { $0.revision < $1.revision }, to: id, &effects) }
    }

    private struct Own {
        var writes: [ConnectionID: [OwnWrite]] = [:]
        var order: [ConnectionID] = []

        mutating func note(_ receipt: Receipt, _ requestID: UInt32, of id: ConnectionID) {
            let writes = receipt.ownWrites(requestID)
            guard !writes.isEmpty else { return }
            if self.writes[id] == nil { self.order.append(id) }
            self.writes[id, default: []] += writes
        }
    }

    private func isNotified(_ id: ConnectionID) -> Bool {
        guard let connection = self.connections.recent(id) else { return false }
        return connection.namesOwnRequests || !connection.views.isEmpty && !connection.isBlocked
    }

    /// Notifies a connection of its own writes whose replies wait for its net differences.
    func pushHeld(by connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard !connection.namesOwnRequests, !connection.views.isEmpty else { return }
        let own = connection.heldReplies.flatMap { held -> [OwnWrite] in
            if case .receipt(let receipt) = held.reply { receipt.ownWrites(held.requestID) } else { [] }
        }
        self.append(own, to: connection.id, &effects)
    }

    /// Appends as many messages as the revisions need: one names at most as many as a connection has requests in
    /// flight, and an undo of a long group has one revision for each of its transactions.
    private func append(_ own: [OwnWrite], to connection: ConnectionID, _ effects: inout [EngineEffect]) {
        let countMax = Limits.requestsInFlightPerConnectionMax
        let namesRequests = self.connections.recent(connection)?.namesOwnRequests == true
        for start in stride(from: 0, to: own.count, by: countMax) {
            let part = own[start..<min(start + countMax, own.count)]
            effects.append(.own(OwnMessage(part, namesRequests: namesRequests), to: connection))
        }
    }
}

extension Receipt {
    /// The revisions of the write; empty if it changed nothing or the receipt is replayed.
    fileprivate func ownWrites(_ requestID: UInt32) -> [OwnWrite] {
        guard self.isChanged, !self.isReplayed else { return [] }
        return (0..<self.revisionCount).reversed().map {
            OwnWrite(revision: Revision(self.revision.rawValue - UInt64($0)), requestID: requestID)
        }
    }
}
